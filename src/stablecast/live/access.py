"""Who may read what a member or a dashboard tells over HTTP.

What is true
    Nothing that is served changes anything; the only question is who may read names, addresses and events.
    On loopback, everyone on this machine may.  Elsewhere only who knows a token may, which whoever serves has
    set; without one nothing is served.  The pages of before there were tokens, ``/metrics`` and ``/status``,
    need the token only where one is set.
Why it is enough
    A token is compared in constant time, and is never written into logs, which there are none of.
What can go wrong
    HTTP is not encrypted: who reads the network reads the token.  Across networks that others can read, put
    it behind an SSH tunnel or a proxy that speaks TLS.
    A web page elsewhere may have its own host's name resolve to 127.0.0.1 and ask from a browser on this
    machine.  Then the ``Host`` that is asked for is that name, so on loopback only numbers and ``localhost``
    are answered.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stablecast.errors import InvalidInput
from stablecast.live.transport import is_loopback

ENVIRONMENT_VARIABLE = "STABLECAST_TOKEN"
LEAST_CHARACTERS = 16
ACCEPTED = f"{LEAST_CHARACTERS} to 256 letters, digits and - . _ ~ + / ="
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,256}")
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:]*))(?::\d+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why somebody may not read something."""

    status: int
    line: str


@dataclass(frozen=True, slots=True)
class Access:
    """What one server asks for."""

    is_local: bool
    """Whether it is bound to loopback."""
    token: str | None = field(default=None, repr=False)
    how: str = ""
    """How a token is set."""

    def refusal(self, headers: Mapping[str, str], *, cookie: str = "") -> Refusal | None:
        """Return why a request is not answered; None if it is."""
        if self.token is not None:
            given = headers.get("Authorization", "")
            bearer = given[7:] if given[:7].lower() == "bearer " else ""
            if _same(bearer.strip(), self.token) or _same(cookie, self.token):
                return None
            return Refusal(401, "this needs the token that was set here (Authorization: Bearer TOKEN)")
        if not self.is_local:
            return Refusal(403, f"off loopback this needs a token ({self.how})")
        if not is_local_name(headers.get("Host", "")):
            return Refusal(
                403, "this is for 127.0.0.1, [::1] and localhost, and was asked for by another name"
            )
        return None


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def is_local_name(host: str) -> bool:
    """Tell whether a ``Host`` names this machine for itself."""
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = (found[1] or found[2] or "").lower()
    return name == "localhost" or is_loopback((name, 0))


def checked_token(token: str, where: str) -> str:
    """Return a token that can be sent in a header; refuse any other, without showing it."""
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise InvalidInput(f"the token {where} is not accepted (accepted: {ACCEPTED})")
    return token


def read_token(file: Path | None) -> str | None:
    """Return the token of a file, or of the environment; None if there is none."""
    if file is None:
        value = os.environ.get(ENVIRONMENT_VARIABLE)
        return None if value is None else checked_token(value.strip(), f"of {ENVIRONMENT_VARIABLE}")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise InvalidInput(f"cannot read the token file '{file}': {why}") from None
    return checked_token(text.strip(), f"of '{file}'")
