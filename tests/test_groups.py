"""Tests that share something expensive are kept together in one process."""

import pytest


@pytest.mark.xdist_group("together")
def test_a_test_that_is_sent_to_a_process_is_sent_with_the_name_of_its_group(request):
    """pytest-xdist tells groups by this; where it cannot write it, it ignores them without a word."""
    if request.config.getoption("loadgroup", False):
        assert request.node.nodeid.endswith("@together")
