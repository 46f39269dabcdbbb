import pytest

from stablecast.errors import InvalidInput
from stablecast.protocols import protocol, protocol_names, protocol_titles

SHARED = {"coord": "coordp", "s_coord": "s_coordp"}
"""Protocols that are another one with other parameters, and so have its kernels."""


def test_every_file_of_the_folder_is_a_protocol_that_goes_by_its_name():
    assert {"coordp", "fulldist", "train", "s_coordp", "s_train"} <= set(protocol_names())
    for name in protocol_names():
        found = protocol(name)
        assert found.name == name
        assert found.title == protocol_titles()[name]
        kernels = SHARED.get(name, name).replace("-", "_")
        assert found.module == f"stablecast.protocols.{kernels}"


def test_an_unknown_name_gets_the_nearest_one_suggested():
    with pytest.raises(InvalidInput, match="did you mean 's_train'"):
        protocol("s-train")
