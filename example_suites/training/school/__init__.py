"""The office of Ashgrove School: absences, trips, who fetches whom."""
