"""Keys come from text, files and the environment, and never show themselves."""

import base64
import traceback

import pytest

from stablecast.engine.keys import Key, Keyring, keyring_from_env, keyring_from_file, new_key_text
from stablecast.errors import InvalidInput

SECRET = bytes(range(200, 232))
OTHER = bytes(range(32))


def key_file(tmp_path, text, mode=0o600):
    path = tmp_path / "group.key"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        SECRET.hex(),
        SECRET.hex().upper(),
        f"  {SECRET.hex()}\n",
        base64.b64encode(SECRET).decode(),
        base64.urlsafe_b64encode(SECRET).decode(),
        base64.urlsafe_b64encode(SECRET).decode().rstrip("="),
        Keyring((Key(0, SECRET),)),
    ],
    ids=["bytes", "hex", "HEX", "spaces", "base64", "urlsafe", "unpadded", "keyring"],
)
def test_a_key_is_accepted_in_every_form(value):
    assert Keyring.of(value) == Keyring((Key(0, SECRET),))


def test_a_new_key_is_accepted_and_differs_from_the_next():
    first, second = new_key_text(), new_key_text()
    assert Keyring.of(first) != Keyring.of(second)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "  ",
        "secret",
        SECRET.hex()[:-1],
        SECRET.hex() + "0",
        "x:" + SECRET.hex(),
        "1:",
        b"",
        SECRET[:-1],
        None,
        7,
    ],
)
def test_what_is_no_key_is_refused(value):
    with pytest.raises(InvalidInput, match="accepted"):
        Keyring.of(value)


def test_numbers_beyond_a_byte_are_refused():
    with pytest.raises(InvalidInput, match="key number 256"):
        Keyring.of(f"256:{SECRET.hex()}")


def test_a_file_lists_the_sealing_key_first_and_numbers_them(tmp_path):
    path = key_file(tmp_path, f"# ours\n\n7: {SECRET.hex()}  # new\n3:{OTHER.hex()}\n")
    assert keyring_from_file(path) == Keyring((Key(7, SECRET), Key(3, OTHER)))


def test_keys_without_numbers_are_numbered_in_their_order(tmp_path):
    path = key_file(tmp_path, f"{SECRET.hex()}\n{OTHER.hex()}\n")
    assert [key.number for key in keyring_from_file(path).keys] == [0, 1]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_may_use_is_refused_with_the_remedy(tmp_path, mode):
    path = key_file(tmp_path, SECRET.hex(), mode)
    with pytest.raises(InvalidInput, match=f"chmod 600 {path}"):
        keyring_from_file(path)


@pytest.mark.parametrize("text", ["", "# nothing\n", "nonsense\n", "1:nonsense\n", "\x00"])
def test_a_file_without_a_good_key_is_refused_by_name(tmp_path, text):
    with pytest.raises(InvalidInput, match=r"group\.key.*accepted"):
        keyring_from_file(key_file(tmp_path, text))


def test_a_number_given_twice_is_refused(tmp_path):
    path = key_file(tmp_path, f"1:{SECRET.hex()}\n{OTHER.hex()}\n")
    with pytest.raises(InvalidInput, match="two keys have the number 1"):
        keyring_from_file(path)


def test_a_file_that_is_missing_or_a_folder_or_not_text_or_huge_is_refused(tmp_path):
    binary = key_file(tmp_path, "")
    binary.write_bytes(b"\xff" * 32)
    huge = tmp_path / "huge"
    huge.write_bytes(b"#" * (1 << 20))
    huge.chmod(0o600)
    for path in (tmp_path / "absent", tmp_path, binary, huge):
        with pytest.raises(InvalidInput, match="key file"):
            keyring_from_file(path)


def test_the_environment_may_hold_several_keys(monkeypatch):
    monkeypatch.setenv("STABLECAST_KEY", f"1:{SECRET.hex()}, 0:{OTHER.hex()}")
    assert keyring_from_env() == Keyring((Key(1, SECRET), Key(0, OTHER)))
    monkeypatch.setenv("OURS", f"{SECRET.hex()}\n{OTHER.hex()}")
    assert keyring_from_env("OURS") == Keyring((Key(0, SECRET), Key(1, OTHER)))


def test_an_environment_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("STABLECAST_KEY", raising=False)
    with pytest.raises(InvalidInput, match="STABLECAST_KEY is not set"):
        keyring_from_env()


def test_no_secret_is_shown_in_a_repr():
    shown = repr(Keyring.of(SECRET))
    assert shown == "Keyring(keys=(Key(number=0),))"


@pytest.mark.parametrize(
    "text",
    [f"999:{SECRET.hex()}", f"{SECRET.hex()}zz", f"1:{SECRET.hex()},1:{SECRET.hex()}", f"{SECRET.hex()}:1"],
)
def test_no_secret_is_shown_in_an_error(text):
    with pytest.raises(InvalidInput) as caught:
        Keyring.of(text)
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET.hex()[:16] not in shown
    assert "\n" not in str(caught.value)
