"""A live group of stablecast: the status of one member, whose buffer is the log.

Theory
    A member keeps every message, of any source, until it knows that all members of its view have it.  Its
    status tells how many it keeps (``unstable_messages``, ``unstable_bytes``), since when
    (``oldest_unstable_s``), and which members lack the oldest of them as far as is known (``held_by``).  The
    log is what this member has to keep: numbers count messages of all sources, the frontier is how many of
    them are known to be everywhere, and the head is that and what is kept.
What a member cannot tell
    Of members that are not in ``held_by`` it says only that nothing is known to be missing.  They are told at
    the head, and not as exact.  So there is no counterfactual for the second oldest message.
    Members that are gone do not count: the group itself takes them out of its view.
Rights
    Where the member asks for a token (docs/metrics.md), it is that of the variable STABLECAST_TOKEN.
"""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from typing import Any

from stablecast.errors import InvalidInput
from stablecast.holdback.addresses import Address
from stablecast.holdback.model import Amount, Log, Reader, Snapshot
from stablecast.holdback.sources.base import TIMEOUT_S, CannotAsk, Closing

MOST_BYTES = 16 << 20


def open_source(address: Address, timeout_s: float | None) -> MemberSource:
    """Return the source of an address such as ``stablecast://host:9100``, a member's metrics."""
    address.check_options(("timeout_s",))
    if address.port is None or address.path:
        raise InvalidInput(
            f"{address.shown} (accepted: the address of a member's metrics, such as stablecast://host:9100)"
        )
    return MemberSource(address, timeout_s or address.seconds("timeout_s", TIMEOUT_S))


class MemberSource(Closing):
    """What one member of a group keeps, and for whom."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self.address = address
        self.timeout_s = timeout_s

    def take(self) -> Snapshot:
        """Return the member's buffer as a log."""
        url = self.address.server.replace("stablecast://", "http://", 1) + "/status"
        try:
            request = urllib.request.Request(url, headers=_token())
            with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:
                status = json.loads(answer.read(MOST_BYTES))
            now_us = time.time_ns() // 1000
            return Snapshot(self.address.server, "stablecast", now_us, (_log(status, now_us),))
        except urllib.error.URLError as error:
            why = str(error.reason)
        except (OSError, http.client.HTTPException) as error:
            why = str(error)
        except (ValueError, KeyError, TypeError, AttributeError):
            why = "what answers is not the status of a member (accepted: the address of --metrics)"
        raise CannotAsk(f"cannot ask {self.address.server}: {why}")


def _token() -> dict[str, str]:
    token = os.environ.get("STABLECAST_TOKEN", "").strip()
    return {"Authorization": f"Bearer {token}"} if token.isascii() and token.isprintable() and token else {}


def _log(status: dict[str, Any], now_us: int) -> Log:
    stable = sum(status["frontier"].values())
    kept = Amount(status["unstable_messages"], status["unstable_bytes"])
    head = stable + status["unstable_messages"]
    since = now_us - round(status["oldest_unstable_s"] * 1e6) if status["unstable_messages"] else None
    return Log(
        group=status["group"],
        source=status["me"],
        head=head,
        first_seq=stable + 1,
        readers=tuple(_reader(name, status, stable, head, since) for name in status["members"]),
        kept=kept,
        kept_since_us=since,
        details={
            "protocol": status["protocol"],
            "view_epoch": status["view_epoch"],
            "state": status["state"],
        },
    )


def _reader(name: str, status: dict[str, Any], stable: int, head: int, since: int | None) -> Reader:
    lacks = name in status["held_by"] and stable < head
    if not lacks:
        return Reader(name, head, exact=False, behind=Amount(0, 0), connected=True)
    behind = Amount(status["unstable_messages"], status["unstable_bytes"])
    return Reader(name, stable, behind=behind, behind_since_us=since, connected=True)
