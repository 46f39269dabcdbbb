"""The Chromium of the report's tests opens the dashboard too."""

from tests.report.conftest import chromium_path

__all__ = ["chromium_path"]
