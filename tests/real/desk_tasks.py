"""Tasks of the hotel's desk for a real model: few turns, and nobody who answers questions. Not named like tests."""

from example_suites.hotel.environment import hotel
from pytest_thinkingbox import Inserted, Limits, Updated

FEW = Limits(turns=4, seconds=120)


@hotel.task("I'm Tom Whitfield, booking 1051. A standard room will do, please.", limits=FEW)
def test_the_room_is_changed(changes):
    assert changes == [Updated("bookings", 1051, room_id=4201)]


@hotel.task("Please note on booking 1042 that Dana Ortiz called.", limits=FEW)
def test_a_note_is_written(changes):
    assert changes == [Inserted("case_notes", booking_id=1042)]
