"""The same five calls without thinkingbox: a copied file, the functions called, the rows read."""

import os
import shutil

import pytest
from shop import CALLS, TOOLS, customers, metadata, notes, orders, refunds, seed
from sqlalchemy import create_engine, select

FUNCTIONS = {function.__name__: function for function in TOOLS}


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    path = tmp_path_factory.mktemp("shop") / "template.sqlite"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        metadata.create_all(connection)
        seed(connection)
    engine.dispose()
    return path


@pytest.fixture
def engine(template):
    path = template.with_name("own.sqlite")
    shutil.copyfile(template, path)
    made = create_engine(f"sqlite:///{path}")
    yield made
    made.dispose()
    path.unlink()


@pytest.mark.parametrize("number", range(int(os.environ["BENCHMARK_TIMES"])))
def test_refund(engine, number):
    for name, arguments in CALLS:
        with engine.begin() as connection:
            FUNCTIONS[name](connection, **arguments)
    with engine.connect() as connection:
        order = connection.execute(select(orders).where(orders.c.id == 57)).one()
        customer = connection.execute(select(customers).where(customers.c.id == 8)).one()
        refund = connection.execute(select(refunds)).one()
        note = connection.execute(select(notes)).one()
    assert order.status == "refunded"
    assert customer.credit == 12.5
    assert (refund.order_id, refund.amount, refund.reason) == (57, 12.5, "broken")
    assert (note.order_id, note.body) == (57, "12.50 refunded: arrived broken")
