"""`python -m thinkingbox_trainer`, which launchers of several processes start."""

import sys

from thinkingbox_trainer.cli import main

sys.exit(main())
