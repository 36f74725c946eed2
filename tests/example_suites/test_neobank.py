"""The bank's own: a ledger that balances, tools that refuse in words, and a card processor over HTTP."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_HALF_UP, Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult
from sqlalchemy import Engine, Table, create_engine, func, select

from example_suites.neobank import schema
from example_suites.neobank.environment import neobank
from example_suites.neobank.seed import rows, seed
from example_suites.neobank.server import build_server
from pytest_thinkingbox import ServerContext


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("neobank") / "template.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        schema.metadata.create_all(connection)
        seed(connection)
    engine.dispose()
    return path


@pytest.fixture
def engine(template: Path, tmp_path: Path) -> Iterator[Engine]:
    path = tmp_path / "neobank.db"
    path.write_bytes(template.read_bytes())
    engine = create_engine(f"sqlite:///{path}")
    yield engine
    engine.dispose()


def play(engine: Engine, *calls: tuple[str, dict[str, Any]], http_url: str = "") -> list[CallToolResult]:
    """What the tools of a new server answer, in process."""
    context = ServerContext(
        engine=engine,
        database_url="",
        attempt_id="test",
        now=neobank.now,
        mail_host="127.0.0.1",
        mail_port=9,
        http_url=http_url,
    )

    async def go() -> list[CallToolResult]:
        async with Client(build_server(context)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(go())


def value(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def text(result: CallToolResult) -> str:
    [content] = result.content
    assert content.type == "text"
    return content.text


def count(engine: Engine, table: Table) -> int:
    with engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


@contextmanager
def processor(status: int) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """A card processor that answers everything with this status: its URL and what it was told."""
    told: list[tuple[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", told
        finally:
            server.shutdown()
            thread.join()


# ---------------------------------------- ledger


def test_every_entry_of_the_seed_balances_in_each_currency() -> None:
    content = rows()
    currencies = {one["id"]: one["currency"] for one in content["accounts"]}
    sums: Counter[tuple[int, str]] = Counter()
    for one in content["postings"]:
        sums[one["journal_id"], currencies[one["account_id"]]] += one["amount"]
    assert {key: total for key, total in sums.items() if total} == {}
    assert {number for number, _ in sums} == {one["id"] for one in content["journal"]}


def test_no_customer_of_the_seed_is_overdrawn() -> None:
    content = rows()
    balances: Counter[int] = Counter()
    for one in content["postings"]:
        balances[one["account_id"]] += one["amount"]
    internal = {one["id"] for one in content["accounts"] if one["kind"] == "internal"}
    assert {account for account, balance in balances.items() if balance < 0} <= internal


def test_every_charge_fee_and_sent_transfer_of_the_seed_is_booked_with_its_amount() -> None:
    content = rows()
    booked = {(one["journal_id"], one["account_id"]): one["amount"] for one in content["postings"]}
    accounts = {one["id"]: one["account_id"] for one in content["cards"]}
    for charge in (one for one in content["authorizations"] if one["status"] == "captured"):
        assert booked[charge["journal_id"], accounts[charge["card_id"]]] == -charge["billed"]
    for transfer in (one for one in content["transfers"] if one["status"] == "sent"):
        assert booked[transfer["journal_id"], transfer["account_id"]] == -transfer["amount"]
    for fee in content["fees"]:
        assert booked[fee["journal_id"], fee["account_id"]] == -fee["amount"]


def test_a_balance_is_the_sum_of_the_postings_to_the_cent(engine: Engine) -> None:
    [before, _, after, statement] = play(
        engine,
        ("get_account", {"account_id": 1142}),
        (
            "post_entry",
            {
                "kind": "exchange",
                "from_account_id": 1142,
                "to_account_id": 1141,
                "amount": 0.1,
                "bought": 0.12,
                "memo": "T-7114",
            },
        ),
        ("get_account", {"account_id": 1142}),
        ("get_statement", {"account_id": 1142, "first_day": "2026-06-09", "last_day": "2026-06-09"}),
    )
    assert (value(before)["balance"], value(after)["balance"]) == (1900.0, 1899.9)
    assert [one["amount"] for one in value(statement)["entries"]] == [-0.1]
    assert value(statement)["balance"] == 1899.9


def test_a_hold_is_not_available(engine: Engine) -> None:
    [account] = play(engine, ("get_account", {"account_id": 1191}))
    kept = Decimal(str(value(account)["balance"])) - Decimal(str(value(account)["available"]))
    assert kept == 350


def test_the_rate_of_the_bank_day_less_the_margin() -> None:
    """1,480.35 GBP at 1.17381 less 0.25 % of it: the amount that a task expects, worked out another way."""
    [rate] = [
        one["millionths"]
        for one in rows()["fx_rates"]
        if (one["base"], one["quote"], one["valid_on"].isoformat()) == ("GBP", "EUR", "2026-06-09")
    ]
    exact = Decimal(148035) * rate * 9975 / 1_000_000 / 10_000
    assert exact.quantize(Decimal(1), ROUND_HALF_UP) == 173331
    assert rate == 1_173_810


# ---------------------------------------- tools


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("get_account", {"account_id": 99}, "There is no account 99"),
        (
            "post_entry",
            {"kind": "fee", "from_account_id": 13, "to_account_id": 1142, "amount": 1, "memo": "T-1"},
            "does not balance",
        ),
        (
            "post_entry",
            {"kind": "fee", "from_account_id": 13, "to_account_id": 1, "amount": 1, "memo": "T-1"},
            "There is no account 1",
        ),
        (
            "post_entry",
            {"kind": "fee", "from_account_id": 13, "to_account_id": 1131, "amount": 0, "memo": "T-1"},
            "The database refused this",
        ),
        (
            "post_entry",
            {
                "kind": "fee",
                "from_account_id": 13,
                "to_account_id": 1131,
                "amount": 1,
                "bought": 2,
                "memo": "T-1",
            },
            "1.00 EUR are left over",
        ),
        ("cancel_transfer", {"transfer_id": 8105}, "was sent; only a scheduled one"),
        ("change_standing_order", {"standing_order_id": 3105}, "Say what is to change"),
        ("waive_fee", {"fee_id": 4106, "amount": 2.745, "reason": "bank_error"}, "fractions of a cent"),
        ("release_hold", {"hold_id": 1}, "There is no hold 1"),
        (
            "open_dispute",
            {"authorization_id": 6119, "reason": "fraud", "amount": 350, "respond_by": "2026-07-09"},
            "is pending; only a charge can be disputed",
        ),
        (
            "add_note",
            {"ticket_id": 7104, "kind": "refusal", "policy_section": "9.9", "body": "No"},
            "no section 9.9",
        ),
        ("notify_processor", {"card_id": 5112}, "cannot be reached"),
        (
            "get_statement",
            {"account_id": 1131, "first_day": "2026-06-09", "last_day": "2026-06-08"},
            "lies before first_day",
        ),
    ],
)
def test_tools_refuse_in_words_and_post_nothing(
    engine: Engine, tool: str, arguments: dict[str, Any], words: str
) -> None:
    before = count(engine, schema.journal), count(engine, schema.postings)
    [result] = play(engine, (tool, arguments), http_url="http://127.0.0.1:9")
    assert result.is_error
    assert words in text(result)
    assert (count(engine, schema.journal), count(engine, schema.postings)) == before


def test_a_transfer_goes_out_on_the_bank_day_that_is_named(engine: Engine) -> None:
    transfer = {"account_id": 1081, "beneficiary": "Quayside", "iban": "IE1", "amount": 20, "memo": "Gift"}
    [today, tomorrow, past, account] = play(
        engine,
        ("create_transfer", {**transfer, "execute_on": "2026-06-09"}),
        ("create_transfer", {**transfer, "execute_on": "2026-06-10"}),
        ("create_transfer", {**transfer, "execute_on": "2026-06-08"}),
        ("get_account", {"account_id": 1081}),
    )
    assert (value(today)["status"], value(tomorrow)["status"]) == ("sent", "scheduled")
    assert "execute_on=2026-06-08 is past" in text(past)
    assert [one["journal_id"] is not None for one in value(account)["transfers"]][-2:] == [True, False]


def test_nobody_asks_for_an_approval_but_the_policy(engine: Engine) -> None:
    [result] = play(engine, ("set_limit", {"customer_id": 101, "kind": "transfer_daily", "amount": 90_000}))
    assert value(result)["amount"] == 90_000.0


def test_a_fee_that_is_given_back_twice_goes_back_twice(engine: Engine) -> None:
    waiver = ("waive_fee", {"fee_id": 4104, "amount": 9.5, "reason": "goodwill"})
    *_, last = play(engine, waiver, waiver)
    assert value(last)["waived"] == 19.0


# ---------------------------------------- the card processor


def test_the_processor_hears_which_card_is_blocked(engine: Engine) -> None:
    with processor(202) as (url, told):
        [result] = play(engine, ("notify_processor", {"card_id": 5118}), http_url=url)
    assert value(result) == {"card_id": 5118, "told": "block"}
    assert told == [("/v1/cards/crd-34442/block", {"card": "crd-34442", "last4": "8614"})]


def test_a_dispute_that_the_processor_does_not_take_is_not_opened(engine: Engine) -> None:
    charge = {"authorization_id": 6113, "reason": "fraud", "amount": 87.35, "respond_by": "2026-07-09"}
    before = count(engine, schema.disputes), count(engine, schema.chargebacks)
    with processor(503) as (url, told):
        [refused] = play(engine, ("open_dispute", charge), http_url=url)
    assert "answered 503" in text(refused)
    assert [path for path, _ in told] == ["/v1/chargebacks"]
    assert (count(engine, schema.disputes), count(engine, schema.chargebacks)) == before
