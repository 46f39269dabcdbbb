"""Who may read what is served over HTTP."""

import pytest

from stablecast.errors import InvalidInput
from stablecast.live.access import Access, checked_token, is_local_name, read_token

TOKEN = "sixteen-letters-1"
LOCAL = {"Host": "127.0.0.1:9100"}


def status(access, headers, cookie=""):
    refusal = access.refusal(headers, cookie=cookie)
    return 200 if refusal is None else refusal.status


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1:9100", True),
        ("127.9.9.9", True),
        ("localhost:1", True),
        ("LOCALHOST", True),
        ("[::1]:9100", True),
        ("evil.example:9100", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("10.0.0.1:9100", False),
        ("", False),
        ("[::1", False),
    ],
)
def test_on_loopback_only_its_own_names_are_answered(host, is_local):
    assert is_local_name(host) is is_local
    assert status(Access(is_local=True), {"Host": host}) == (200 if is_local else 403)


def test_off_loopback_nothing_is_told_without_a_token():
    refusal = Access(is_local=False, how="--token-file FILE").refusal(LOCAL)
    assert refusal is not None
    assert refusal.status == 403
    assert "--token-file FILE" in refusal.line


@pytest.mark.parametrize("is_local", [True, False])
def test_a_token_is_asked_for_wherever_one_is_set(is_local):
    access = Access(is_local, TOKEN)
    assert status(access, LOCAL) == 401
    assert status(access, {**LOCAL, "Authorization": f"Bearer {TOKEN}x"}) == 401
    assert status(access, {**LOCAL, "Authorization": f"Basic {TOKEN}"}) == 401
    assert status(access, {**LOCAL, "Authorization": "Bearer é"}) == 401
    assert status(access, LOCAL, cookie="wrong") == 401
    assert status(access, {**LOCAL, "Authorization": f"bearer {TOKEN}"}) == 200
    assert status(access, {"Host": "monitor.example"}, cookie=TOKEN) == 200
    assert TOKEN not in repr(access)


@pytest.mark.parametrize(
    "token", ["", "short", "x" * 300, "with spaces in between", "über-sechzehn-zeichen", 7]
)
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(token):
    with pytest.raises(InvalidInput, match="accepted: 16 to 256 letters") as refused:
        checked_token(token, "of a test")
    assert not token or str(token) not in str(refused.value)


def test_a_token_comes_from_a_file_or_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("STABLECAST_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("STABLECAST_TOKEN", TOKEN)
    assert read_token(None) == TOKEN
    file = tmp_path / "token"
    file.write_text("another-token-of-a-file\n")
    assert read_token(file) == "another-token-of-a-file"
    with pytest.raises(InvalidInput, match="cannot read the token file"):
        read_token(tmp_path / "absent")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="it is not text"):
        read_token(file)
