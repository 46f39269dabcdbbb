"""Settings for all tests: no time limits an example, and a failure prints how to run it again."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "stablecast", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
# CI runs the same examples every time; elsewhere each run looks at new ones.
settings.register_profile("ci", settings.get_profile("stablecast"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "stablecast")
