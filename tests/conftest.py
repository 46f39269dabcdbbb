"""Settings for all tests: no time limits an example, and a failure prints how to run it again."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "stablecast", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
# CI runs the same examples every time; elsewhere each run looks at new ones.
settings.register_profile("ci", settings.get_profile("stablecast"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "stablecast")

BROWSER_TESTS = "test_page_in_browser"


def pytest_terminal_summary(terminalreporter):
    skipped = [one for one in terminalreporter.stats.get("skipped", []) if BROWSER_TESTS in one.nodeid]
    if skipped:
        terminalreporter.section("WARNING", sep="!", red=True)
        terminalreporter.line(
            f"{len(skipped)} browser tests of the report did NOT run: no Chromium was found."
        )


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
