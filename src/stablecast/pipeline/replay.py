"""Run one point alone and print its row: ``python -m stablecast.pipeline.replay TASK OPTIONS-AS-JSON``."""

from __future__ import annotations

import json
import sys

from stablecast.compiling import sources_digest
from stablecast.pipeline.point import Point
from stablecast.pipeline.schema import DONE
from stablecast.pipeline.tasks import Terms, run_point


def main(arguments: list[str]) -> int:
    """Run the point and return 0 if it came to an end by itself."""
    task, options = arguments
    row = run_point(Point(json.loads(options), task), Terms(sources=sources_digest()))
    print(json.dumps({key: value for key, value in row.items() if value is not None}, default=str))
    return 0 if row["status"] == DONE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
