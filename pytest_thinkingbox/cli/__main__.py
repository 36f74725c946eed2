"""`python -m pytest_thinkingbox.cli`."""

import sys

from pytest_thinkingbox.cli import main

if __name__ == "__main__":
    sys.exit(main())
