"""Tasks whose checkers ask a judge; test_model.py lets a real model be that."""

from sqlalchemy import Column, Integer, MetaData, Table

from pytest_thinkingbox import Database, Environment, call

metadata = MetaData()
Table("bookings", metadata, Column("id", Integer, primary_key=True))

desk = Environment(name="judged", database=Database(schema=metadata), servers=[], mail=False)


@desk.task("When do I get my money?", solution=[call.say("Your refund arrives on 3 June.")], no_change=True)
def test_told(attempt, changes, judge):
    assert changes == []
    assert judge.yes("Does the text name a date?", about=attempt.response)


@desk.task("When do I get my money?", solution=[call.say("It is on its way.")], no_change=True)
def test_not_told(attempt, changes, judge):
    assert changes == []
    assert judge.yes("Does the text name a date?", about=attempt.response)
