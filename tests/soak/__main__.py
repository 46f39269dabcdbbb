"""Seeded fault schedules of live groups in memory: ``python -m tests.soak``."""

import sys

from tests.soak.command import main

sys.exit(main())
