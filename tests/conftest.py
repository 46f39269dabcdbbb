"""Settings for all tests: no time limits an example, and a failure prints how to run it again."""

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "stablecast", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
# CI runs the same examples every time; elsewhere each run looks at new ones.
settings.register_profile("ci", settings.get_profile("stablecast"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "stablecast")

NEEDS = ("NO CHROMIUM", "NO SERVER")
"""How reasons begin for which a test is skipped that CI would fail: the machine lacks what it needs."""


def pytest_terminal_summary(terminalreporter):
    skipped = [
        str(one.longrepr[2]).removeprefix("Skipped: ")
        for one in terminalreporter.stats.get("skipped", [])
        if isinstance(one.longrepr, tuple)
    ]
    lacking = Counter(reason for reason in skipped if reason.startswith(NEEDS))
    if lacking:
        terminalreporter.section("WARNING", sep="!", red=True)
        for reason, count in sorted(lacking.items()):
            terminalreporter.line(f"{count} tests did NOT run: {reason}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Let tests that share the Spark session run in one process."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark():
    """A local session with two cores, as the commands build it."""
    from stablecast.pipeline.session import spark_session

    with spark_session(
        master="local[2,4]",
        # Every operator takes a page; large ones are made for large data.
        conf={"spark.buffer.pageSize": "1m"},
        protocols=["coordp", "fulldist", "train", "s_coordp", "s_train"],
    ) as session:
        yield session
