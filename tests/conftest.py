"""Settings for all tests: no time limits an example, and a failure prints how to run it again."""

import gc
import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "stablecast",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=50,
)
settings.register_profile("soak", settings.get_profile("stablecast"), max_examples=1000)
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
    """Let tests that share the Spark session run in one process, and those of protocol files in another.

    A process takes six seconds to compile its first kernel, and the same files are compiled by several tests.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
        elif "outside" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("outside"))
        elif shares_with_its_module(item) and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def shares_with_its_module(item):
    """Whether a test uses something that is made once for its module, in each process that runs any of it."""
    found = getattr(item, "_fixtureinfo", None)
    known = found.name2fixturedefs.values() if found else ()
    return any(each.scope == "module" for fixtures in known for each in fixtures)


def pytest_collection_finish():
    """Spare the collector of garbage the tests themselves, which stay: all takes a sixteenth less."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """Let modules be taken apart at the end of the process, as ever; DuckDB complains of what is left."""
    gc.unfreeze()


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
