"""Sources by the scheme of their address; a client is imported when one of its addresses is used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple, cast

from stablecast.errors import InvalidInput, unknown_name
from stablecast.holdback.addresses import Address, parse_address
from stablecast.holdback.sources.base import Source


class Kind(NamedTuple):
    """Where a source is, and what has to be installed for it."""

    module: str
    client: str | None
    """The package that it imports."""
    extra: str | None


_REDIS = Kind("redis", "redis", "redis")
_POSTGRES = Kind("postgres", "psycopg", "postgres")
_NATS = Kind("nats", "nats", "nats")
SOURCES: dict[str, Kind] = {
    "redis": _REDIS,
    "rediss": _REDIS,
    "postgres": _POSTGRES,
    "postgresql": _POSTGRES,
    "nats": _NATS,
    "tls": _NATS,
    "kafka": Kind("kafka", "confluent_kafka", "kafka"),
    "stablecast": Kind("member", None, None),
}


def open_source(address: str | Address, *, timeout_s: float | None = None) -> Source:
    """Return the source for an address; nothing is asked of it yet."""
    where = parse_address(address) if isinstance(address, str) else address
    kind = SOURCES.get(where.scheme)
    if kind is None:
        raise unknown_name("kind of address", where.scheme, SOURCES)
    require_client(kind, where.scheme)
    module = import_module(f"{__name__}.{kind.module}")
    return cast(Source, module.open_source(where, timeout_s))


def require_client(kind: Kind, scheme: str) -> None:
    """Refuse to go on if the client of a source is not installed."""
    if kind.client is None:
        return
    found = find_spec(kind.client)
    if found is None or found.origin is None:
        raise InvalidInput(
            f"{scheme}:// needs {kind.client}, not installed (pip install 'stablecast[{kind.extra}]')"
        )
