"""The description of a protocol: its message types, its kernels, and what they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput, unknown_name
from stablecast.overlays import Tree
from stablecast.protocols.contract.kernels import no_attach, no_init, no_take
from stablecast.protocols.contract.parameters import VALUE_MAX, Parameter, Role, options_of

Kernel = Callable[..., None]
NumberKernel = Callable[..., int]


class Place(NamedTuple):
    """Each member's place in an overlay: row ``i`` is ``flat[start[i]:start[i+1]]``."""

    flat: NDArray[np.int32]
    start: NDArray[np.int64]

    def of(self, member: int) -> NDArray[np.int32]:
        """Return the entries of one member."""
        return self.flat[self.start[member] : self.start[member + 1]]


def columns(*entries: Sequence[int] | NDArray[np.int64]) -> Place:
    """Build places of equal width from one array for each entry."""
    table = np.stack([np.asarray(entry, dtype=np.int32) for entry in entries], axis=1)
    start = np.arange(table.shape[0] + 1, dtype=np.int64) * table.shape[1]
    return Place(np.ascontiguousarray(table).reshape(-1), start)


@dataclass(frozen=True)
class Sizes:
    """What the size of a protocol's arrays and messages follows from."""

    group: int
    """Members."""
    tracked: int
    """Sequence numbers of an array that are there."""
    wire: int
    """Sequence numbers of an array on the wire."""
    entry_bytes: int
    params: tuple[int, ...]
    guarded: bool = False
    """Whether messages may come twice, be sent again, or their senders be gone."""
    leaders: tuple[int, ...] = ()
    """For each column, the member whose messages are numbered in it; empty if that is not known."""
    audiences: tuple[tuple[int, ...], ...] = ()
    """For each column, the members that its messages are for; empty if that is everyone."""


def _none(sizes: Sizes) -> int:
    return 0


def _nowhere(sizes: Sizes) -> int:
    return -1


def _everyones(sizes: Sizes) -> str:
    return "all"


def _no_bytes(sizes: Sizes) -> tuple[int, ...]:
    return ()


def tree_messages(group: int) -> float:
    """Return the messages of an execution in which every member talks to a few others, roughly."""
    return 4 * group * math.log2(group + 2)


@dataclass(frozen=True)
class Protocol:
    """A stability protocol, written once and driven by the simulator and by live groups."""

    name: str
    """The paper's name for it, used everywhere."""
    title: str
    """One line for people."""
    paper: str
    """Short name of the paper, and the section."""
    kinds: tuple[str, ...]
    """Message types; a kernel names one by its index."""
    start: Kernel
    """``start(me, now, out)``: member 0 begins the next execution."""
    receive: Kernel
    """``receive(me, message, now, out)``: what a message does to a member."""
    handle_timer: Kernel
    """``handle_timer(me, now, out)``: what happens when the timer that a member set goes off."""
    module: str
    """The module that defines the kernels; the simulator compiles its loop against it."""
    place: Callable[[Tree], Place] | None = None
    """Places every member in the overlay, given the tree of members."""
    init: Kernel = no_init
    """``init(me, now, out)``: a member begins to take part, at the start or when it joins later."""
    places: Callable[[Tree, Sizes, int], Place] | None = None
    """For a protocol whose places follow from its parameters and a seed, in place of ``place``."""
    parameters: tuple[Parameter, ...] = ()
    autonomous: bool = False
    """Whether members run by their own timers, with no member that starts executions."""
    rows: tuple[str, ...] = ()
    """For each kind, the row of the papers' tables that it is counted in; by default the kind itself."""
    attach: NumberKernel = no_attach
    """``attach(me, column, number, now)``: a data message of this member is about to be sent; put what goes
    with it into ``me.attached`` by ``attach_number``, and return its bytes."""
    take: Kernel = no_take
    """``take(me, column, source, before, now, out)``: the prefix of a column, whose sender is ``source``, has
    grown beyond ``before`` here."""
    attached: Callable[[Sizes], int] = _none
    """Numbers that go with each data message."""
    family: str = ""
    """A module whose kernels call those of several protocols, by their first parameter; the simulator then
    compiles one loop for all of them."""
    roundless: bool = False
    """Whether it has no executions or rounds: members acknowledge, and know, all the time."""
    knows: Callable[[Sizes], str] = _everyones
    """Whether members learn of everyone's messages that they are stable, or of their ``own`` alone."""
    groups_may_differ: bool = False
    """Whether each sender may have receivers of its own."""
    delivers: bool = False
    """Whether it delivers messages itself, beside no data traffic of the driver's."""
    summarise: Callable[..., Any] | None = None
    """For such a protocol, what a run measured: of sizes, registers, own numbers, who is there, and when."""
    messages: int = 0
    """Data messages of each sender, for a protocol that is of no use without them, if it is not said."""
    operations: int = -1
    """The register that counts its comparisons and moves of numbers; -1 for none."""
    registers: int | Callable[[Sizes], int] = 4
    """Length of ``Member.reg``."""
    slots: int = 1
    """Rows of ``Member.gathered``."""
    own: Callable[[Sizes], int] = _none
    """Length of ``Member.own``."""
    side: Callable[[Sizes], int] = _none
    """Entries that a message's array has behind its sequence numbers."""
    book: Callable[[Sizes], int] = _nowhere
    """Where ``Member.own`` has a status number for each member, odd while it is in; -1 for nowhere."""
    extra_bytes: Callable[[Sizes], tuple[int, ...]] = _no_bytes
    """For each kind, bytes on the wire beyond header and sequence numbers."""
    timed: bool | Callable[[tuple[int, ...]], bool] = False
    """Whether its kernels set timers, perhaps by its parameters."""
    told: bool = False
    """Whether its ``receive`` understands ``GONE``."""
    leaving: int = -1
    """The register that tells a member to leave at its next timer; -1: it just goes."""
    resolve: Callable[[Mapping[str, int], int], Mapping[str, int]] | None = None
    """``resolve(values, group)``: returns the parameters, by name, that follow from others and from the
    number of members; a value that was neither given nor declared is 0."""
    check: Callable[[Mapping[str, int]], None] | None = None
    """``check(values)``: refuses parameters, by name, that do not fit together."""
    execution_messages: Callable[[int], float] = tree_messages
    """``execution_messages(group)``: messages of one execution, roughly; estimates of run times use it."""
    sends_max: int | Callable[[Sizes], int] = 4
    """Most messages that one kernel call puts into the outbox."""
    arrays_max: int | None = None
    """Most arrays of their own among them; as many as messages by default."""
    placement: str = "network"
    """How members are numbered by default: along the ``network``, or at ``random``."""
    cast: str | None = None
    """How a message to all travels by default: ``multicast``, ``unicast``, or as the network has it."""

    @property
    def options(self) -> dict[str, Parameter]:
        """The parameters that are options, by the options' names."""
        return options_of(self.parameters)

    def encode(self, options: Mapping[str, Any]) -> dict[str, int]:
        """Return options, in the units of their names, as parameters for the kernels, by name."""
        known, encoded = self.options, {}
        for option, value in options.items():
            if option not in known:
                raise unknown_name(f"parameter of {self.name}", option, known)
            if value is not None:
                encoded[known[option].name] = known[option].encode(value)
        return encoded

    def parameter_values(self, given: Mapping[str, int], group: int) -> tuple[int, ...]:
        """Return the parameters' values, as kernels see them, in their order, for a group of that size.

        ``given`` has encoded values by the parameters' own names; unknown names are refused.
        """
        values = {parameter.name: parameter.encode(None) for parameter in self.parameters}
        for name, value in given.items():
            if name not in values:
                raise unknown_name(f"parameter of {self.name}", name, values)
            if abs(value) >= VALUE_MAX:
                raise InvalidInput(f"{name} {value:g} is too large (accepted: below 2^61 = 2.3e18)")
            values[name] = value
        if self.resolve is not None:
            values |= self.resolve(values, group)
        if self.check is not None:
            self.check(values)
        return tuple(values.values())

    def having(self, role: Role) -> list[Parameter]:
        """Return the parameters of a role."""
        return [parameter for parameter in self.parameters if parameter.role == role]

    def place_of(self, role: Role) -> int:
        """Return the place of the first parameter of a role, -1 if there is none."""
        roles = [parameter.role for parameter in self.parameters]
        return roles.index(role) if role in roles else -1

    def value_of(self, role: Role, params: Sequence[int], default: int) -> int:
        """Return the value of the first parameter of a role, the default if there is none."""
        place = self.place_of(role)
        return default if place < 0 else params[place]

    def sets_timers(self, params: tuple[int, ...]) -> bool:
        """Tell whether its kernels set timers with these parameters."""
        return self.timed(params) if callable(self.timed) else self.timed

    def most_sends(self, sizes: Sizes) -> int:
        """Return the most messages of one kernel call."""
        return self.sends_max(sizes) if callable(self.sends_max) else self.sends_max

    def most_arrays(self, sizes: Sizes) -> int:
        """Return the most arrays of one kernel call."""
        return self.most_sends(sizes) if self.arrays_max is None else self.arrays_max

    def register_count(self, sizes: Sizes) -> int:
        """Return the length of ``Member.reg``."""
        return self.registers(sizes) if callable(self.registers) else self.registers

    @property
    def attaches(self) -> bool:
        """Whether something goes with its data messages."""
        return self.attach is not no_attach

    @property
    def takes(self) -> bool:
        """Whether it does something when a data message comes."""
        return self.take is not no_take

    def places_of(self, tree: Tree, sizes: Sizes, seed: int) -> Place:
        """Place every member in the overlay."""
        if self.places is not None:
            return self.places(tree, sizes, seed)
        assert self.place is not None, f"{self.name} places nobody"
        return self.place(tree)

    def row_of(self, kind: int) -> str:
        """Return the table row that messages of a kind are counted in."""
        return self.rows[kind] if self.rows else self.kinds[kind]
