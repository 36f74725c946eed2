"""Tasks of the order desk. Not named like tests: they are run with the server that they need."""

from pytest_thinkingbox import Inserted, Updated, call
from tests.real.orders.environment import order_desk


@order_desk.task(
    "Zoë Kowalska wants to know what order 2 costs; note that she asked.",
    solution=[
        call("list_tables"),
        call("describe_table", table_name="orders"),
        call("read_query", query="select customer, total from orders where id = 2"),
        call("write_query", query="insert into notes (order_id, text) values (2, 'Zoë asked for the total')"),
        call.say("It costs 20.00."),
    ],
)
def test_a_note_is_written(attempt, changes):
    assert changes == [Inserted("notes", order_id=2, text="Zoë asked for the total")]
    assert [one.name for one in attempt.tool_calls][-2:] == ["read_query", "write_query"]
    assert "Zoë Kowalska" in attempt.tool_calls[-2].result


@order_desk.task(
    "Cancel order 1, please.",
    solution=[call("write_query", query="update orders set status = 'cancelled' where id = 1")],
)
def test_one_order_is_cancelled(changes):
    assert changes == [Updated("orders", 1, status=("open", "cancelled"))]
