"""The keystone check for a protocol of one's own: two drivers, one trace, on networks drawn from seeds.

    def test_my_protocol():
        check_protocol("mine.py")

Theory
    The compiled simulator and a driver in plain Python share nothing but the protocol's kernels and the model
    of the network.  If both give the same trace, event for event, then neither has lost, reordered or
    invented a message, and what the protocol does follows from its declaration alone.
What is demanded
    Of each seed, which draws a small network, its costs, traffic and faults: equal traces, of every other
    seed with all that is transmitted, arrives and goes off; that nothing is
    called stable that a member lacks (both drivers look); and, where nothing is lost and nobody crashes, that
    the run comes to an end.  Before that, some seeds are run without compilation, in a process of its own:
    compiled kernels check no bounds of arrays, and one that writes beside an array would damage this process.
What it cannot tell
    Whether the protocol comes to an end under losses and crashes: that depends on what it promises.
"""

from __future__ import annotations

import ast
import itertools
import os
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stablecast.errors import InvalidInput, SafetyViolation, StablecastError
from stablecast.protocols import is_known, naming_lines
from stablecast.protocols import protocol as find_protocol
from stablecast.protocols.contract import Protocol, Role
from stablecast.simulate.costs import HOST_MODELS
from stablecast.simulate.options import Options
from stablecast.simulate.run import simulate
from stablecast.simulate.setup import Setup
from stablecast.simulate.trace_rows import ROW
from stablecast.testing.reference.driver import TooLong, run_plain
from stablecast.trace.schema import WIRE_KINDS

FAULTS = ("loss", "duplicate", "reorder", "crash")
SEEDS = range(20)
UNCOMPILED = 3
"""How many of the seeds are also run without compilation."""
EVENTS_MAX = 20_000
"""Cases that take the plain driver more events than this are left out."""
UNTIL_MS, UNTIL_MS_LOSSY = 20_000.0, 400.0
CODES = ("send", "receive", "stable", "release", "handle", *WIRE_KINDS)
Row = tuple[int, ...]


class CheckFailed(StablecastError, AssertionError):
    """A protocol does not do what every one has to; the message says for which seed, and how to repeat it."""


def check_protocol(
    protocol: str | Path | Protocol,
    *,
    seeds: Iterable[int] = SEEDS,
    faults: Collection[str] | None = None,
    options: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Run a protocol on small random networks, in both drivers; raise :class:`CheckFailed` for what is wrong.

    Parameters
    ----------
    protocol
        The path of a file, a name, or a protocol itself.
    seeds
        Each draws a network, costs, traffic and faults.
    faults
        Some of ``loss``, ``duplicate``, ``reorder`` and ``crash``.  By default the first three for a protocol
        that has a parameter of role ``RESEND`` or ``STEP``, and crashes for one that has a ``gone`` kernel.
    options
        For some of the protocol's options, values to draw from: ``{"fanout": (1, 2)}``.
    """
    check = _Check(_named(protocol), _chosen(find_protocol(_named(protocol)), faults), dict(options or {}))
    wanted = list(seeds)
    if not wanted:
        raise InvalidInput("no seeds (accepted: one or more)")
    check.run_uncompiled(wanted[:UNCOMPILED])
    tried = [seed for seed in wanted if check.run(seed)]
    if not tried:
        raise CheckFailed(
            f"{check.protocol.name}: every run took more than {EVENTS_MAX:,} events (accepted: one that ends)"
        )


def _named(protocol: str | Path | Protocol) -> str | Protocol:
    return str(protocol) if isinstance(protocol, Path) else protocol


def _chosen(protocol: Protocol, faults: Collection[str] | None) -> tuple[str, ...]:
    if faults is None:
        repeats = bool(protocol.having(Role.RESEND) or protocol.having(Role.STEP))
        return FAULTS[:3] * repeats + FAULTS[3:] * protocol.told
    for fault in faults:
        if fault not in FAULTS:
            raise InvalidInput(f"fault '{fault}' is not accepted (accepted: {', '.join(FAULTS)})")
    return tuple(fault for fault in FAULTS if fault in faults)


@dataclass(frozen=True)
class _Check:
    named: str | Protocol
    faults: tuple[str, ...]
    options: dict[str, Sequence[Any]]

    @property
    def protocol(self) -> Protocol:
        return find_protocol(self.named)

    def case(self, seed: int) -> Options:
        """Return the run that a seed draws."""
        return Options(protocol=self.named, **_Draw(self, seed).options())

    def run(self, seed: int) -> bool:
        """Run a seed in both drivers; tell whether it was short enough to be."""
        case = self.case(seed)
        try:
            with naming_lines(self.protocol.file):
                _compare(case.setup(), must_end=not _can_stall(case.given()), wire=seed % 2 == 1)
        except TooLong:
            return False
        except (SafetyViolation, _Different) as error:
            raise CheckFailed(self._failure(seed, case, str(error))) from None
        return True

    def _failure(self, seed: int, case: Options, what: str) -> str:
        given = "" if self.faults == _chosen(self.protocol, None) else f", faults={self.faults!r}"
        given += f", options={self.options!r}" if self.options else ""
        return (
            f"{self.protocol.name}, seed {seed}: {what}\n"
            f"check again: check_protocol({_address(self.named)!r}, seeds=[{seed}]{given})\n"
            f"look at it: {case.command()}"
        )

    def run_uncompiled(self, seeds: list[int]) -> None:
        """Run some seeds in another process, in which kernels are plain Python."""
        address = _address(self.named)
        if address is None:
            return  # it was typed in, and no other process can find it
        told = repr((address, self.faults, self.options, seeds))
        done = subprocess.run(
            [sys.executable, "-c", "from stablecast.testing import keystone; keystone.main()", told],
            env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            why = done.stdout.strip() or (done.stderr.strip() or "killed").splitlines()[-1]
            raise CheckFailed(f"without compilation: {why}")


def _address(named: str | Protocol) -> str | None:
    """Return what another process finds a protocol by."""
    if isinstance(named, str):
        return named
    if named.file:
        return named.file
    if is_known(named.name) and find_protocol(named.name) is named:
        return named.name
    module = sys.modules.get(named.state.__module__)
    file = getattr(module, "__file__", None)
    return file if file and getattr(module, "PROTOCOL", None) is named else None


class _Draw:
    """Draws the options of one run."""

    def __init__(self, check: _Check, seed: int) -> None:
        self._check, self._seed = check, seed
        self._rng = np.random.default_rng([seed, 0x6B657973])

    def one(self, values: Sequence[Any]) -> Any:
        """Return one of some values."""
        return values[int(self._rng.integers(len(values)))]

    def chance(self) -> bool:
        """Return whether a coin fell on its head."""
        return bool(self._rng.integers(2))

    def options(self) -> dict[str, Any]:
        """Return all options of the run."""
        drawn = {"seed": self._seed, **self.network(), **self.traffic(), **self.faults()}
        for option, values in self._check.options.items():
            drawn[option] = self.one(values)
        return drawn | self.packets()

    def network(self) -> dict[str, Any]:
        """Return a topology of at most 16 members, and its costs."""
        name = self.one(("tree", "random-tree", "balanced", "random-graph"))
        costs = {"costs": self.one(("lan1997", "links-only"))}
        if name == "tree":
            degree, height = self.one(((1, 1), (1, 4), (2, 1), (2, 2), (2, 3), (3, 2), (8, 1)))
            self.members = sum(degree**level for level in range(height + 1))
            return {"topology": name, "degree": degree, "height": height, **costs}
        self.members = self.one((9, 11, 12, 16) if name == "random-tree" else (2, 3, 7, 8, 11, 16))
        shape: dict[str, Any] = {"topology": name, "members": self.members}
        if name == "random-tree":
            shape |= {"degree": 2, "height": 3}
        elif name == "random-graph":
            shape |= {"nodes": self.members, "edge_probability": 0.5}
            shape |= self.one(({}, {"cast": "multicast"}, {"cast": "multicast", "multicast_tree": "source"}))
        else:
            shape |= {"nodes": self.members + self.one((0, 5)), "degree": 3}
        return shape | costs

    def packets(self) -> dict[str, Any]:
        """Return what messages are cut into, and how hosts send them."""
        drawn = {"mtu_bytes": self.one((0, 0, 60, 400)), "host_model": self.one(HOST_MODELS)}
        return {name: value for name, value in drawn.items() if value not in (0, HOST_MODELS[0])}

    def traffic(self) -> dict[str, Any]:
        """Return data traffic, and when executions start."""
        runs = self._check.protocol.runs
        drawn: dict[str, Any] = {}
        if self.chance() or not runs.in_rounds:
            drawn |= {"messages": self.one((1, 3, 6)), "buffer": self.one((2, 8))}
            drawn["senders"] = self.one(range(1, min(self.members, 4) + 1))
        if runs.in_rounds and ("messages" not in drawn or not runs.by_timers):
            drawn["executions"] = self.one((1, 2, 4))
        if not runs.by_timers and self.chance():
            drawn |= {"trigger": "periodic", "period_ms": self.one((1.0, 20.0))}
            if "messages" in drawn:
                del drawn["executions"]
        return drawn

    def faults(self) -> dict[str, Any]:
        """Return losses and crashes, in half of the runs."""
        check = self._check
        drawn: dict[str, Any] = {}
        if not check.faults or self.chance():
            return {"until_ms": UNTIL_MS}
        for parameter in check.protocol.having(Role.RESEND):
            drawn[parameter.option_name] = self.one((5.0, 30.0))
        for name, option, values in (
            ("loss", "link_loss", (0.02, 0.2)),
            ("duplicate", "duplicate", (0.05, 0.3)),
            ("reorder", "reorder", (0.05, 0.3)),
        ):
            if name in check.faults and self.chance():
                drawn[option] = self.one(values)
        if "crash" in check.faults and self.members > 2 and self.chance():
            first = 0 if check.protocol.runs.successors else 1
            drawn["faults"] = f"crash {self.one(range(first, self.members))} at {self.one((1, 15, 60))}"
            drawn["detect_ms"] = self.one((0.0, 20.0))
        return drawn | {"until_ms": UNTIL_MS_LOSSY if _can_stall(drawn) else UNTIL_MS}


def _can_stall(options: Mapping[str, Any]) -> bool:
    return any(name in options for name in ("link_loss", "duplicate", "reorder", "faults"))


class _Different(Exception):
    """The drivers do not agree, or a run did not end."""


def _compare(setup: Setup, *, must_end: bool, wire: bool) -> None:
    plain = run_plain(setup, wire=wire, events_max=EVENTS_MAX)
    rows: list[Row] = []

    def give_up(*_: int) -> None:
        raise _Different("the compiled simulator does not end where the plain driver did")

    result = simulate(
        setup,
        trace=lambda block: rows.extend(map(tuple, block.tolist())),
        wire_log=True,
        wire=wire,
        progress=give_up,
    )
    difference = _first_difference(rows, plain.events)
    if difference:
        raise _Different(difference)
    if must_end and not result.completed:
        raise _Different(f"not over after {setup.until_ms:g} ms, though nothing was lost and nobody crashed")


def _first_difference(compiled: list[Row], plain: Sequence[Any]) -> str:
    pairs = itertools.zip_longest(compiled, map(tuple, plain))
    for k, (left, right) in enumerate(pairs):
        if left != right:
            return f"the drivers differ at event {k}: compiled {_told(left)}, plain {_told(right)}"
    return ""


def _told(row: Row | None) -> str:
    if row is None:
        return "[nothing]"
    code, at_ps, member, source, number, size, *more = row
    what = f"{CODES[code]} {number} of column {source}, {size} bytes"
    if more:
        what += f" ({', '.join(f'{name} {value}' for name, value in zip(ROW[6:], more, strict=True))})"
    if CODES[code] == "handle":
        what = f"handles message {size} of execution {number} from {source}"
    return f"[at {at_ps} ps member {member} {what}]"


def main() -> None:
    """Run seeds in this process, which is told to compile nothing; print what is wrong."""
    named, faults, options, seeds = ast.literal_eval(sys.argv[1])
    check = _Check(named, faults, options)
    try:
        for seed in seeds:
            check.run(seed)
    except StablecastError as error:
        print(error)
        sys.exit(1)
