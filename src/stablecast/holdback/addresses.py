"""Addresses of systems: ``redis://user:password@host:port/…?option=value``, and how they are shown.

A password is kept apart from what is shown, so that no message can hold it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from stablecast.errors import InvalidInput, unknown_name
from stablecast.holdback.units import LONGEST_S

# It does not say what is wrong: that may be a part of a password.
_UNREADABLE = (
    "the {}:// address cannot be read (accepted: SCHEME://USER:PASSWORD@HOST:PORT/PATH?OPTION=VALUE,"
    " with / ? # @ of a password written %2F %3F %23 %40)"
)
NARROWING = ("stream", "match", "topic", "group", "creds", "nkey")
"""Options that choose a part of what a server has; none of them is a secret."""


@dataclass(frozen=True)
class Address:
    """Where a system is, and what to ask it for."""

    scheme: str
    host: str
    port: int | None
    path: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def server(self) -> str:
        """Which server it is, as in messages and as a label; without who asks, and with what."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + (f":{self.port}" if self.port is not None else "")

    @property
    def shown(self) -> str:
        """The address without password and options."""
        return "/".join([self.server, *self.path])

    @property
    def scope(self) -> str:
        """Which part of the server is asked for, and by whom: two addresses of one scope tell the same."""
        host = self.server.partition("://")[2]
        who = f"{self.user}@" if self.user else ""
        narrowed = [(name, self.options[name]) for name in NARROWING if name in self.options]
        asked = "/".join([f"{self.scheme}://{who}{host}", *self.path])
        return asked + (f"?{urlencode(narrowed, safe='*,:')}" if narrowed else "")

    def check_options(self, accepted: Collection[str]) -> None:
        """Refuse options that the source does not know."""
        for name in self.options:
            if name not in accepted and "@" in name:
                raise InvalidInput(_UNREADABLE.format(self.scheme))
            if name not in accepted:
                raise unknown_name(f"option of {self.scheme}://", name, accepted)

    def seconds(self, name: str, default: float) -> float:
        """Return an option that is a number of seconds."""
        text = self.options.get(name)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = -1.0
        if not 0 < value <= LONGEST_S:
            raise InvalidInput(
                f"{name}={text} of {self.shown} (accepted: seconds above 0, at most {LONGEST_S:,})"
            )
        return value


def parse_address(text: str) -> Address:
    """Return an address from what was given on the command line."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise InvalidInput(_UNREADABLE.format(text.partition(":")[0])) from None
    if not parts.scheme or "://" not in text:
        raise InvalidInput(f"'{text.rpartition('@')[2]}' is no address (accepted: such as redis://host:6379)")
    if "@" in parts.path or "@" in parts.query or parts.fragment:
        raise InvalidInput(_UNREADABLE.format(parts.scheme))
    address = Address(
        scheme=parts.scheme.lower(),
        host=unquote(parts.hostname or "localhost"),
        port=port,
        path=tuple(unquote(part) for part in parts.path.split("/") if part),
        options=dict(parse_qsl(parts.query, keep_blank_values=True)),
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password is not None else None,
    )
    if port == 0:
        raise InvalidInput(f"{address.shown} (accepted: a port from 1 to 65535)")
    address.seconds("timeout_s", 1.0)
    return address
