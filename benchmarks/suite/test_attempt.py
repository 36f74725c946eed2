"""The five calls as a task: run with --tb-agent=solution, or with a model that makes them."""

from shop import CALLS, TOOLS, metadata, seed

from pytest_thinkingbox import Database, Environment, Inserted, Server, Updated, call

shop = Environment(
    name="shop",
    database=Database(schema=metadata, seed=seed),
    servers=[Server.functions(TOOLS)],
    instructions="Refund what arrived broken and write a note.",
)


@shop.task(
    "Customer 8 here. Order 57 arrived broken: please refund 12.50.",
    solution=[*(call(name, **arguments) for name, arguments in CALLS), call.say("Refunded.")],
)
def test_refund(changes):
    assert changes == [
        Updated("orders", 57, status=("delivered", "refunded")),
        Updated("customers", 8, credit=(0, 12.5)),
        Inserted("refunds", order_id=57, amount=12.5, reason="broken"),
        Inserted("notes", order_id=57, body="12.50 refunded: arrived broken"),
    ]
