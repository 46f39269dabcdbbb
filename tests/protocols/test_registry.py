import pytest

from stablecast.errors import InvalidInput
from stablecast.protocols import protocol, protocol_names, protocol_titles


def test_every_file_of_the_folder_is_a_protocol_that_goes_by_its_name():
    assert {"coordp", "fulldist", "train", "s_coordp", "s_train"} <= set(protocol_names())
    for name in protocol_names():
        found = protocol(name)
        assert found.name == name
        assert found.title == protocol_titles()[name]
        assert found.module.endswith(f".{name.replace('-', '_')}")


def test_an_unknown_name_gets_the_nearest_one_suggested():
    with pytest.raises(InvalidInput, match="did you mean 's_train'"):
        protocol("s-train")
