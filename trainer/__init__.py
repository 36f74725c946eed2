"""From a suite to a trained policy: GRPO whose reward is the suite's test functions. Imports neither torch nor trl."""
