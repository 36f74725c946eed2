"""Whether the checkers of a suite can be trusted: its solutions, and mutants of them, played for real."""
