"""The HTML report in a real browser, with records as hostile as a model, a tool or a database can make them.

Whatever a test does, the page may run no script of the data, log nothing, and ask for nothing.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from pytest_thinkingbox.cli import main
from pytest_thinkingbox.records.model import AttemptRecord, ToolCallRecord
from pytest_thinkingbox.records.store import CampaignFolder
from pytest_thinkingbox.state.codec import encode_diff
from pytest_thinkingbox.state.model import Attachment, ReceivedMail, RowChange, SchemaDelta, StateDiff
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from pytest_thinkingbox.state.rulings import Ruling
from tests.records.builders import info, record

pytestmark = pytest.mark.slow

EVIL = (
    "</script></style></title><script>window.ran=1</script><img src=http://127.0.0.1:9/ onerror=window.ran=2>"
    "<svg onload=window.ran=3><!--]]>'\"`${window.ran=4}{{7*7}}\x00\u202e\ud800"
)
SHOWN = EVIL.replace("\x00", r"\x00").replace("\u202e", r"\u202e").replace("\ud800", r"\ud800")
LONG = "x" * 400
HEBREW = "ביטול ההזמנה 1042"


def evil_attempt(attempt: int, **named: Any) -> AttemptRecord:
    function = {"name": EVIL, "arguments": json.dumps({EVIL: EVIL, "__proto__": 1})}
    changes = StateDiff(
        rows=(
            RowChange(
                "update", EVIL, (EVIL,), {EVIL: EVIL, "constructor": 1}, {EVIL: LONG, "constructor": 2}
            ),
            RowChange("delete", "log", None, {"line": EVIL}, None),
        ),
        schema=(SchemaDelta("dropped", "table", EVIL, EVIL, None),),
    )
    fields: dict[str, Any] = {
        "task": f"t_{EVIL}.py::test_{EVIL}",
        "attempt": attempt,
        "requested": 2,
        "detail": f"{EVIL}\n{LONG}",
        "model": EVIL,
        "tags": (EVIL, "__proto__", HEBREW),
        "stop_reason": "turn_limit",
        "stop_detail": EVIL,
        "messages": (
            {"role": "user", "content": EVIL},
            {"role": "assistant", "content": HEBREW, "tool_calls": [{"id": "a", "function": function}]},
            {"role": "tool", "tool_call_id": "a", "content": "s" * 5_000_000},
            {"role": EVIL, "content": EVIL},
        ),
        "tool_calls": (
            ToolCallRecord(
                id="a",
                name=EVIL,
                arguments={EVIL: EVIL},
                result="s" * 5_000_000,
                error=True,
                seconds=0,
                fault=EVIL,
            ),
        ),
        "changes": encode_diff(changes),
        "rulings": (Ruling(question=EVIL, about="", answer="yes", reason=EVIL, model=EVIL, cached=False),),
        "mail": (
            ReceivedMail(
                sender=EVIL,
                recipients=(EVIL,),
                subject=EVIL,
                text="",
                html=EVIL,
                attachments=(Attachment(name=EVIL, type=EVIL, data=b"x"),),
            ),
        ),
        "http": (ReceivedRequest(method="POST", path=EVIL, data=EVIL.encode("utf-8", "replace")),),
        "files": (FileChange(change="added", path=EVIL, size=3, digest="", data=b"\xff\x00<"),),
    }
    return record("failed", **fields | named)


def desk(outcomes: str, *, task: str, **named: Any) -> list[AttemptRecord]:
    names = {"p": "passed", "f": "failed", "i": "invalid"}
    details = {"p": "", "f": f"{task} differs", "i": "503 from the endpoint"}
    return [
        record(
            names[letter],  # type: ignore[arg-type]
            task=f"desk/test_a.py::{task}",
            attempt=number,
            requested=len(outcomes),
            detail=details[letter],
            messages=({"role": "user", "content": f"{task}, attempt {number}"},),
            **named,
        )
        for number, letter in enumerate(outcomes, start=1)
        if letter in names
    ]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report on five tasks, one of them hostile in every field."""
    records = [
        *desk("pfpi", task="test_refund", tags=("money",)),
        *desk("pppp", task="test_dates[case]", tags=("dates",)),
        *desk("ff-", task="test_approval", tags=("money",)),
        *desk("i", task="test_down"),
        evil_attempt(1),
        record(
            "invalid",
            task=evil_attempt(1).task,
            attempt=2,
            requested=2,
            final=False,
            detail="first try",
            changes=None,
        ),
        evil_attempt(2, try_number=2, detail="second try"),
    ]
    tasks = {one.task: one.requested for one in records}
    folder = CampaignFolder.create(
        tmp_path_factory.mktemp("report") / "one",
        info(campaign=f"c {EVIL}", agent=EVIL, model=EVIL, tasks=tasks, min_pass_rate=0.5),
    )
    for one in records:
        folder.append(one)
    path = folder.path / "report.html"
    assert main(["report", str(folder.path), "--format=html", "-o", str(path)]) == 0
    assert path.stat().st_size < 200_000
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "no Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any, report: str) -> Iterator[Callable[..., Any]]:
    """Open the report; when the test is over, nothing may have run, been logged or been asked for."""
    noise: list[str] = []
    contexts = []

    def open_page(fragment: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: noise.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: noise.append(f"error: {error}"))
        page.on("dialog", lambda dialog: noise.append("a dialog"))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((report, "data:")) else noise.append(f"request: {request.url}")
            ),
        )
        page.goto(f"{report}{fragment}")
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            assert page.evaluate("window.ran") is None
        context.close()
    assert noise == []


def shown(page: Any) -> list[str]:
    """Names of the tasks that the filter leaves."""
    return [re.sub(r"\s+", " ", name) for name in page.locator("tr.task:visible .name").all_inner_texts()]


def test_t26_what_others_wrote_is_text_on_the_first_page(visit: Callable[..., Any]) -> None:
    page = visit()
    assert page.locator("h1").inner_text() == f"c {SHOWN}"
    assert shown(page)[-1] == f"test_{SHOWN}"
    assert SHOWN in page.locator(".meta").inner_text()
    assert page.locator(".tag", has_text="__proto__").count() == 1
    assert page.title() == f"c {SHOWN} - thinkingbox"


def test_t26_what_others_wrote_is_text_in_an_attempt(visit: Callable[..., Any]) -> None:
    page = visit("#t4.1")
    text = page.locator("#attempt .try").inner_text()
    for title in ("Why it failed", "Changes", "Mail", "HTTP requests", "Files", "Judge", "Conversation"):
        assert page.get_by_role("heading", name=title, exact=True).count() == 1
    assert text.count(r"\x00\u202e\ud800") >= 15
    assert "4,980,000 characters left out here" in text
    assert page.locator("#attempt img, #attempt script, #attempt svg").count() == 0


def test_every_try_is_shown_the_one_that_decided_first(visit: Callable[..., Any]) -> None:
    page = visit("#t4.2")
    page.locator(".try").nth(1).wait_for()
    assert [one.get_attribute("aria-label") for one in page.locator(".try").all()] == [
        "Try 2 of 2, failed",
        "Try 1 of 2, invalid",
    ]
    assert "The state was not read." in page.locator(".try").nth(1).inner_text()


def test_a_click_opens_an_attempt_and_the_way_back_leads_where_one_was(visit: Callable[..., Any]) -> None:
    page = visit()
    page.locator("#t0 .strip a").nth(1).click()
    page.locator(".try").wait_for()
    assert page.url.endswith("#t0.2")
    assert page.locator(".try pre").first.inner_text() == "test_refund differs"
    assert page.evaluate("document.activeElement.localName") == "h2"
    page.go_back()
    page.locator("#overview").wait_for()
    assert page.evaluate("document.activeElement.hash") == "#t0.2"
    page.go_forward()
    page.locator(".try").wait_for()


@pytest.mark.parametrize(
    ("fragment", "name"),
    [
        ("#t1.3", "desk/test_a.py::test_dates[case-try3]"),
        ("#test_refund[try4]", "desk/test_a.py::test_refund[try4]"),
        ("#test_dates%5Bcase-try2%5D", "desk/test_a.py::test_dates[case-try2]"),
        ("#desk/test_a.py::test_down", "desk/test_a.py::test_down"),
    ],
)
def test_an_attempt_has_an_address(fragment: str, name: str, visit: Callable[..., Any]) -> None:
    page = visit(fragment)
    page.locator(".try").wait_for()
    assert page.locator(".title .id").inner_text() == name


@pytest.mark.parametrize("fragment", ["#t9.1", "#t2.3", "#test_x", "#%E0%A4%A", "#__proto__", "#tasks"])
def test_an_address_of_nothing_is_the_first_page(fragment: str, visit: Callable[..., Any]) -> None:
    page = visit(fragment)
    assert page.locator("#overview").is_visible()
    assert not page.locator("#attempt").is_visible()


def test_search_filter_and_order_say_how_many_tasks_they_leave(visit: Callable[..., Any]) -> None:
    page = visit()
    count = page.locator("#shown")
    assert count.inner_text() == "filter shows 5 of 5 tasks"
    page.locator("#search").fill("MONEY differs")
    assert shown(page) == ["test_refund", "test_approval"]
    page.locator("#outcome").select_option("never")
    assert shown(page) == ["test_approval"]
    assert count.inner_text() == "filter shows 1 of 5 tasks"
    page.locator("#search").fill("no such thing")
    assert page.locator("#nothing").is_visible()
    page.locator("#reset").click()
    assert count.inner_text() == "filter shows 5 of 5 tasks"
    page.locator("#tag").select_option(label=HEBREW)
    assert len(shown(page)) == 1
    page.locator("#tag").select_option("")
    page.locator("#outcome").select_option("reliable")
    assert shown(page) == ["test_dates[case]"]
    page.locator("#outcome").select_option("")
    page.locator("#order").select_option("low")
    assert shown(page)[0] == "test_down"
    assert shown(page)[-1] == "test_dates[case]"
    page.locator("#order").select_option("")
    assert shown(page)[0] == "test_refund"


def test_a_cause_leads_to_its_tasks(visit: Callable[..., Any]) -> None:
    page = visit()
    page.locator(".causes tr", has_text="503 from the endpoint").locator("a").click()
    assert shown(page) == ["test_refund", "test_down"]
    assert page.evaluate("document.activeElement.id") == "tasks"
    page.locator("#cause").select_option("")
    assert len(shown(page)) == 5


def test_all_can_be_done_by_keys(visit: Callable[..., Any]) -> None:
    page = visit()
    keys = page.keyboard
    keys.press("/")
    keys.type("test_")
    assert page.locator("#search").input_value() == "test_"
    keys.press("Escape")
    assert page.locator("#search").input_value() == ""
    page.locator("#t0 .strip a").first.focus()
    for key, place in (
        ("ArrowRight", "#t0.2"),
        ("End", "#t0.4"),
        ("ArrowDown", "#t1.4"),
        ("ArrowLeft", "#t1.3"),
        ("ArrowUp", "#t0.3"),
        ("Home", "#t0.1"),
    ):
        keys.press(key)
        assert page.evaluate("document.activeElement.hash") == place
    assert page.locator("#t0 .strip a[tabindex='0']").count() == 1
    keys.press("Enter")
    for key, place in (
        ("n", "#t0.2"),
        ("n", "#t0.4"),
        ("n", "#t2.1"),
        ("p", "#t0.4"),
        ("ArrowLeft", "#t0.3"),
        ("ArrowRight", "#t0.4"),
    ):
        keys.press(key)
        page.wait_for_url(f"**{place}")
        page.locator(".try").wait_for()
    keys.press("Escape")
    assert page.locator("#overview").is_visible()
    assert page.evaluate("document.activeElement.hash") == "#t0.4"
    keys.press("?")
    assert page.locator("#keys").is_visible()
    keys.press("Escape")
    assert not page.locator("#keys").is_visible()
    assert page.locator("#overview").is_visible()


CONTRAST = """() => {
  const parse = (color) => { const n = color.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color[3] === 1) return color;
    }
    return [255, 255, 255, 1];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    if (![...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim())) continue;
    if (!element.checkVisibility() || element.closest("script, style, svg, [aria-disabled], .unseen")) continue;
    const color = parse(getComputedStyle(element).color);
    if (color[3] === 0) continue;
    const [a, b] = [light(color), light(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.push(`${element.localName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("fragment", ["", "#t4.1"])
def test_all_text_can_be_read_in_both_schemes(scheme: str, fragment: str, visit: Callable[..., Any]) -> None:
    """WCAG AA: 4.5 to 1."""
    page = visit(fragment, color_scheme=scheme)
    if fragment:
        page.locator(".try").wait_for()
    body = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (body == "rgb(255, 255, 255)") == (scheme == "light")
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("fragment", ["", "#t4.1"])
def test_a_narrow_window_is_never_wider_than_it_is(fragment: str, visit: Callable[..., Any]) -> None:
    page = visit(fragment, viewport={"width": 360, "height": 740})
    if fragment:
        page.locator(".try").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_paper_gets_everything_but_the_controls(visit: Callable[..., Any]) -> None:
    page = visit()
    page.evaluate(
        """window.addEventListener("beforeprint", () => {
            window.closed_on_paper = document.querySelectorAll("details:not([open])").length;
        })"""
    )
    assert page.locator("details:not([open])").count() == 1
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate("window.closed_on_paper") == 0
    assert page.locator("details:not([open])").count() == 1
    page.emulate_media(media="print", color_scheme="dark")
    assert [page.locator(name).is_visible() for name in (".tools", ".jump", "#shown")] == [False] * 3
    assert page.locator("#t0 .strip").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


def test_text_of_others_is_laid_out_by_its_own_direction(visit: Callable[..., Any]) -> None:
    page = visit("#t4.1")
    said = page.get_by_text(HEBREW, exact=True).and_(page.locator("#attempt .text"))
    assert said.get_attribute("dir") == "auto"
    assert said.evaluate("one => getComputedStyle(one).direction") == "rtl"


def test_without_scripts_the_figures_and_strips_are_there(browser: Any, report: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report)
    assert page.locator("#t0 .strip").inner_text().split() == ["✓", "×", "✓", "!"]
    assert "need JavaScript" in page.locator("noscript").inner_text()
    assert not page.locator(".tools").is_visible()
    context.close()


def test_tables_have_heads_and_headings_go_down_step_by_step(visit: Callable[..., Any]) -> None:
    page = visit("#t4.1")
    page.locator(".try").wait_for()
    levels = [int(one.evaluate("it => it.localName[1]")) for one in page.locator("h1, h2, h3, h4").all()]
    visible = [
        int(one.evaluate("it => it.localName[1]"))
        for one in page.locator("h1, h2, h3, h4").all()
        if one.is_visible()
    ]
    assert levels[0] == visible[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(visible))
    assert page.locator("table:not(:has(th[scope]))").count() == 0
    assert page.locator("main:visible").count() == 1
