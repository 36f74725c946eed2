"""`pytest example_suites` evaluates. The training pool runs where it is named: `pytest example_suites/training`."""

collect_ignore = ["training"]
