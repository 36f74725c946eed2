"""Five small companies whose tasks are for training only; nothing of them is in the evaluation suites."""
