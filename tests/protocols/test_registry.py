import pytest

from stablecast.errors import InvalidInput
from stablecast.protocols import protocol, protocol_names, protocol_titles
from stablecast.protocols.contract import Role

KERNELS = {"coord": "coordp", "s_coord": "s_coordp"}
"""Protocols that have the state and the kernels of another file."""


def test_every_file_of_the_folder_is_a_protocol_that_goes_by_its_name():
    assert {"coordp", "fulldist", "train", "s_coordp", "s_train"} <= set(protocol_names())
    for name in protocol_names():
        found = protocol(name)
        assert found.name == name
        assert found.title == protocol_titles()[name]
        file = KERNELS.get(name, name.replace("-", "_"))
        assert found.state.__module__ == f"stablecast.protocols.{file}"
        for message in found.messages:
            # Layers around a paper's figure are in files that begin with an underscore.
            assert message.__module__.startswith((f"stablecast.protocols.{file}", "stablecast.protocols._"))


def test_an_unknown_name_gets_the_nearest_one_suggested():
    with pytest.raises(InvalidInput, match="did you mean 's_train'"):
        protocol("s-train")


def test_protocols_are_listed_by_what_they_can_do():
    assert protocol_names(lambda found: found.runs.delivers) == ["bimodal"]
    assert protocol_names(lambda found: found.having(Role.STEP)) == ["gsgc", "gsgc-local"]


def test_a_protocol_is_found_by_its_file(tmp_path):
    file = tmp_path / "quick_coordp.py"
    file.write_text(
        "from stablecast.protocols import coordp\n"
        "PROTOCOL = coordp.PROTOCOL.replace(about='quick_coordp: coordp, in a hurry.')\n"
    )
    found = protocol(str(file))
    assert (found.name, found.title) == ("quick_coordp", "coordp, in a hurry")
    assert protocol(str(file)) is found
    assert protocol(found) is found


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [("nothing_there.py", None, "no protocol"), ("empty_file.py", "", "defines no PROTOCOL")],
)
def test_a_file_without_a_protocol_is_refused(tmp_path, name, text, what):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=what):
        protocol(str(tmp_path / name))
