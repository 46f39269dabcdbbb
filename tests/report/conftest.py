"""A Chromium for the tests of the page; without one they are skipped, and the end of the run says so."""

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium_path() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        reason = f"NO CHROMIUM: the report was not tested in a browser (looked for {', '.join(NAMES)})"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    return found
