"""Keys of a group: where they come from, and which of them seals.

A key is 32 secret bytes and a number that every datagram names, so that members can hold an old and a new key
at once while they change over.  A key's number has to be the same at every member.  Nothing here shows a
secret: not in a repr, and not in an error.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

from stablecast.errors import InvalidInput

SECRET_BYTES = 32
NUMBER_MAX = 255
ENVIRONMENT_VARIABLE = "STABLECAST_KEY"
TEXT_BYTES_MAX = 1 << 16
"""A key file is no longer than this."""

FORMS = "64 hexadecimal digits or the base64 of 32 bytes, as 'stablecast key' prints"

_NUMBERED = re.compile(r"([0-9]{1,4})\s*:\s*(.*)", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{43}=?", re.ASCII)


@dataclass(frozen=True)
class Key:
    """One secret, and the number by which datagrams name it."""

    number: int
    """From 0 to 255; the same at every member."""
    secret: bytes = field(repr=False)
    """32 bytes."""

    def __post_init__(self) -> None:
        if not 0 <= self.number <= NUMBER_MAX:
            raise InvalidInput(f"key number {self.number} is not accepted (accepted: 0 to {NUMBER_MAX})")
        if not isinstance(self.secret, bytes) or len(self.secret) != SECRET_BYTES:
            raise InvalidInput(f"key {self.number} has a wrong size (accepted: {SECRET_BYTES} bytes)")


@dataclass(frozen=True)
class Keyring:
    """The keys of a group at one time: the first seals, all of them open."""

    keys: tuple[Key, ...]

    def __post_init__(self) -> None:
        if not self.keys:
            raise InvalidInput("a keyring has no key (accepted: at least one)")
        numbers = [key.number for key in self.keys]
        for number in numbers:
            if numbers.count(number) > 1:
                raise InvalidInput(f"two keys have the number {number} (accepted: each number once)")

    @classmethod
    def of(cls, value: Keyring | bytes | str) -> Keyring:
        """Return a keyring for what a caller gave as key.

        Parameters
        ----------
        value
            A keyring; 32 bytes, which become key 0; or text as in a key file, with commas or line breaks
            between keys.
        """
        if isinstance(value, Keyring):
            return value
        if isinstance(value, bytes):
            if len(value) != SECRET_BYTES:
                raise InvalidInput(f"the key has {len(value)} bytes (accepted: {SECRET_BYTES}, or {FORMS})")
            return cls((Key(0, value),))
        if isinstance(value, str):
            return _parse(value, "the key")
        raise InvalidInput(f"a key cannot be a {type(value).__name__} (accepted: Keyring, bytes or text)")


def keyring_from_file(path: str | Path) -> Keyring:
    """Read keys from a file that only its owner may read.

    One key a line, ``NUMBER:KEY`` or only ``KEY``; the number is then the key's place in the file, from 0.
    The first key seals.  What follows ``#`` is a comment.
    """
    where = f"key file '{path}'"
    try:
        with Path(path).open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise InvalidInput(
                    f"{where} may be used by others (mode {mode:03o}, accepted: 600): chmod 600 {path}"
                )
            content = file.read(TEXT_BYTES_MAX + 1)
    except OSError as error:
        raise InvalidInput(f"{where} cannot be read: {error.strerror}") from None
    if len(content) > TEXT_BYTES_MAX:
        raise InvalidInput(f"{where} is too large (accepted: {TEXT_BYTES_MAX} bytes, one key a line)")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{where} is not text (accepted: one key a line, {FORMS})") from None
    return _parse(text, where)


def keyring_from_env(variable: str = ENVIRONMENT_VARIABLE) -> Keyring:
    """Read keys from an environment variable: as in a key file, with commas or line breaks between keys."""
    text = os.environ.get(variable)
    if text is None:
        raise InvalidInput(f"environment variable {variable} is not set (accepted: {FORMS})")
    return _parse(text, f"environment variable {variable}")


def new_key_text() -> str:
    """Return a new random key as text."""
    return secrets.token_hex(SECRET_BYTES)


def _parse(text: str, where: str) -> Keyring:
    """Read keys from text, in their order."""
    keys: list[Key] = []
    for number, line in enumerate(text.splitlines(), start=1):
        for entry in line.split("#", 1)[0].split(","):
            if entry.strip():
                keys.append(_parse_entry(entry.strip(), f"{where}, line {number}", len(keys)))
    if not keys:
        raise InvalidInput(f"{where} has no key in it (accepted: {FORMS})")
    try:
        return Keyring(tuple(keys))
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None


def _parse_entry(entry: str, where: str, place: int) -> Key:
    """Read one key, with its number or without."""
    numbered = _NUMBERED.fullmatch(entry)
    number, form = (int(numbered[1]), numbered[2]) if numbered else (place, entry)
    secret = _secret(form)
    if secret is None:
        raise InvalidInput(f"{where}: not a key (accepted: {FORMS}, after 'NUMBER:' or alone)")
    try:
        return Key(number, secret)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None


def _secret(form: str) -> bytes | None:
    """Return the bytes that text stands for, None if it is no key."""
    if _HEX.fullmatch(form):
        return bytes.fromhex(form)
    plain = form.replace("-", "+").replace("_", "/")
    if not _BASE64.fullmatch(plain):
        return None
    try:
        return base64.b64decode(plain.rstrip("=") + "=", validate=True)
    except binascii.Error:
        return None
