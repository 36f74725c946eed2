"""Corporate hotel bookings: the suite to read first."""
