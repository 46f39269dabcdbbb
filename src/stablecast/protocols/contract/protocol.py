"""The description of a protocol, in four parts: what it is, its kernels, how it runs, its parameters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput, unknown_name
from stablecast.overlays import Tree
from stablecast.protocols.contract.checks import check_about, check_kernels, check_parameters
from stablecast.protocols.contract.fields import Sizes
from stablecast.protocols.contract.kernels import (
    Member,
    no_attach,
    no_call,
    no_channel,
    no_gone,
    no_hear,
    no_joined,
    no_take,
)
from stablecast.protocols.contract.layout import Declaration, Placement, checked_count
from stablecast.protocols.contract.parameters import VALUE_MAX, Parameter, Role, options_of

Kernel = Callable[..., None]
NumberKernel = Callable[..., int]
SPARE_SENDS = 4


def one_to_each(sizes: Sizes) -> int:
    """Return the room of a call that may send to each member alone, and a few messages more."""
    return sizes.group + SPARE_SENDS


def few(sizes: Sizes) -> int:
    """Return the room of a call that sends a few messages at most."""
    return SPARE_SENDS


@dataclass(frozen=True, kw_only=True)
class Kernels:
    """What a message, a timer or a driver's call does to one member, and what it sends."""

    receive: Mapping[type, Kernel]
    """For each message, ``on(me, source, message, now, out)``: what it does to a member.  Messages are
    numbered in this order."""
    init: Kernel = no_call
    """``init(me, now, out)``: a member begins to take part, at the start or when it joins later."""
    start: Kernel = no_call
    """``start(me, now, out)``: member 0, or its successor, begins the next execution."""
    timer: Kernel = no_call
    """``timer(me, now, out)``: the time that a member set its timer to has come."""
    gone: Kernel = no_gone
    """``gone(me, member, column, now, out)``: a failure detector tells that a member is no more, and which
    column it led (-1 for none)."""
    joined: Kernel = no_joined
    """``joined(me, member, now, out)``: a membership service tells that a member has joined.  A protocol that
    has it can be joined while it runs: ``init`` is then called with what had been sent before as received."""
    channel: Kernel = no_channel
    """``channel(me, what, member, column, connection, now, out)``: a receiver is to connect to the sender
    ``member``, or a connection is closed; told to the receiver, and when it is closed to the sender too."""
    leave: Kernel = no_call
    """``leave(me, now, out)``: the member is asked to leave; one that has no such kernel just goes."""
    attach: NumberKernel = no_attach
    """``attach(me, column, number, now)``: a data message of this member is about to be sent; put what goes
    with it into ``me.attached`` by ``attach_number``, and return its bytes."""
    take: Kernel = no_take
    """``take(me, column, source, before, now, out)``: the prefix of a column, whose sender is ``source``, has
    grown beyond ``before`` here."""
    hear: Kernel = no_hear
    """``hear(me, source, now)``: a message of the data traffic has come from ``source``, a sign of life."""
    sends: Callable[[Sizes], int] = one_to_each
    """Most messages that one call sends."""
    arrays: Callable[[Sizes], int] | None = None
    """Most messages among them that carry arrays of their own; by default all."""
    attached: Callable[[Sizes], int] = lambda sizes: 0
    """Numbers that ``attach`` puts into a data message; no fewer in a larger group."""


@dataclass(frozen=True, kw_only=True)
class Runs:
    """How a protocol runs.  Use one of the four ways below."""

    by_timers: bool = False
    """Whether members run by their own timers, with no member that starts executions."""
    in_rounds: bool = True
    """Whether it has executions or rounds."""
    delivers: bool = False
    """Whether it delivers messages itself, beside no data traffic of the driver's."""
    data_messages: int = 0
    """Data messages of each sender, if it is not said, for a protocol that is of no use without them."""
    timed: Callable[[Sizes], bool] | None = None
    """Whether its kernels set timers, where that follows from parameters."""
    placement: str = "network"
    """How members are numbered by default: along the ``network``, at ``random``, or ``near``."""
    cast: str | None = None
    """How a message to all travels by default: ``multicast``, ``unicast``, or as the network has it."""
    knows: Callable[[Sizes], str] = lambda sizes: "all"
    """Whether members learn of everyone's messages that they are stable, or of their ``own`` alone."""
    groups_may_differ: bool = False
    """Whether each sender may have receivers of its own."""
    by_minimum: bool = False
    """Whether nothing is called stable but the minimum, over all members, of what they say to have.  Then a
    member that does not receive a sender's messages can say that it has everything of it."""
    operations: str = ""
    """The number of the state that counts its comparisons and moves of numbers."""
    status: str = ""
    """The array of the state that has a status number for each member, odd while it is in."""
    successors: bool = False
    """Whether the lowest-numbered member that is left starts executions when those before it are gone.  The
    numbers of its executions are then those of :mod:`stablecast.protocols.layers.succession`."""
    ends: bool = False
    """Whether it ends by itself after the executions that it is told."""
    summarise: Callable[..., Any] | None = None
    """For a protocol that delivers, what a run measured."""
    execution_messages: Callable[[int], float] | None = None
    """Messages of one execution in a group of that size, roughly; estimates of run times use it."""


@dataclass(frozen=True, kw_only=True)
class Started(Runs):
    """Member 0, or a successor, starts each execution, whenever a driver tells it to."""


@dataclass(frozen=True, kw_only=True)
class Gossiping(Runs):
    """All members run by their own timers, round after round."""

    by_timers: bool = True


@dataclass(frozen=True, kw_only=True)
class Acknowledging(Runs):
    """Members acknowledge data messages, and know what is stable, all the time."""

    by_timers: bool = True
    in_rounds: bool = False
    data_messages: int = 20


@dataclass(frozen=True, kw_only=True)
class Delivering(Runs):
    """Members multicast, repair and deliver data messages themselves."""

    by_timers: bool = True
    in_rounds: bool = False
    delivers: bool = True
    data_messages: int = 100


@dataclass(frozen=True)
class Surroundings:
    """What a protocol may place its members by."""

    tree: Tree
    """The tree that the members form in the network; member 0 is its root."""
    sizes: Sizes
    seed: int
    distances: Callable[[], NDArray[np.float64]]
    """Called for the distances between all members in the network, in microseconds; 0 where none is known."""


Links = tuple[NDArray[np.integer[Any]], NDArray[np.int64]]
"""The numbers that each member's number is linked with, those of one after the other, and where each one's
begin.  A link is there at both of its ends."""


def nowhere(around: Surroundings) -> Placement:
    """The places of a protocol without an overlay."""
    return {}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Protocol:
    """A stability protocol, written once and driven by the simulator and by live groups."""

    about: str
    """The docstring of its file, whose first line is ``name: title.``"""
    paper: str
    """Short name of the paper, and the section."""
    state: type[Member]
    kernels: Kernels
    runs: Runs
    parameters: tuple[Parameter, ...] = ()
    places: Callable[[Surroundings], Placement] = nowhere
    """Places every member in the overlay: the values of the state's ``Place`` and ``Places`` fields."""
    links: Callable[[Surroundings], Links] | None = None
    """Which members send to each other, where their numbers decide that: what the placement ``near`` shortens
    in the network."""
    resolve: Callable[[Mapping[str, int], int], Mapping[str, int]] | None = None
    """``resolve(values, group)``: returns the parameters, by name, that follow from others and from the
    number of members; a value that was neither given nor declared is 0."""
    check: Callable[[Mapping[str, int]], None] | None = None
    """``check(values)``: refuses parameters, by name, that do not fit together."""
    file: str = ""
    """The file that defines it, where it is not a part of this package."""

    def __post_init__(self) -> None:
        check_about(self.about)
        check_kernels(self.kernels)
        check_parameters(self.parameters)

    def __repr__(self) -> str:
        return f"<protocol {self.name}>"

    @property
    def name(self) -> str:
        """The paper's name for it, used everywhere."""
        return self.about.strip().partition(":")[0]

    @property
    def title(self) -> str:
        """One line for people."""
        return self.about.strip().splitlines()[0].partition(": ")[2].rstrip(".")

    @property
    def messages(self) -> tuple[type, ...]:
        """Its messages; a driver names one by its place among them."""
        return tuple(self.kernels.receive)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The messages' names."""
        return tuple(message.__name__ for message in self.messages)

    def row_of(self, kind: int) -> str:
        """Return the row of the papers' tables that messages of a kind are counted in."""
        return str(getattr(self.messages[kind], "row", self.kinds[kind]))

    @cached_property
    def declaration(self) -> Declaration:
        """What it declares, laid out."""
        names = [parameter.name for parameter in self.parameters]
        return Declaration(self.name, self.state, self.messages, names)

    # Parameters

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

    def parameter_values(self, given: Mapping[str, int], group: int) -> dict[str, int]:
        """Return the parameters' values by name, as kernels see them, for a group of that size.

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
        return values

    def having(self, role: Role) -> list[Parameter]:
        """Return the parameters of a role."""
        return [parameter for parameter in self.parameters if parameter.role == role]

    def value_of(self, role: Role, params: Mapping[str, int], default: int) -> int:
        """Return the value of the first parameter of a role, the default if there is none."""
        found = self.having(role)
        return params[found[0].name] if found else default

    # What a driver asks

    @property
    def attaches(self) -> bool:
        """Whether something goes with its data messages."""
        return self.kernels.attach is not no_attach

    @property
    def takes(self) -> bool:
        """Whether it does something when a data message comes."""
        return self.kernels.take is not no_take

    @property
    def hears(self) -> bool:
        """Whether messages of the data traffic are signs of life to it."""
        return self.kernels.hear is not no_hear

    @property
    def told(self) -> bool:
        """Whether it is to be told of members that are gone."""
        return self.kernels.gone is not no_gone

    @property
    def hears_of_joins(self) -> bool:
        """Whether it is to be told of members that have joined."""
        return self.kernels.joined is not no_joined

    @property
    def connects(self) -> bool:
        """Whether receivers can connect to senders, and disconnect from them, while it runs."""
        return self.kernels.channel is not no_channel

    @property
    def leaves(self) -> bool:
        """Whether its members have something to do before they leave."""
        return self.kernels.leave is not no_call

    def check_sizes(self, sizes: Sizes) -> None:
        """Refuse fields and room that cannot be, in a group of these sizes."""
        self.declaration.check_sizes(sizes)
        for name, least in (("sends", 1), ("arrays", 0), ("attached", 0)):
            function = getattr(self.kernels, name)
            if function is not None:
                checked_count(
                    function, sizes, f"{self.file or self.name}: '{name}' of the kernels", least=least
                )

    def sets_timers(self, sizes: Sizes) -> bool:
        """Tell whether its kernels set timers."""
        return self.kernels.timer is not no_call and (self.runs.timed is None or self.runs.timed(sizes))

    def most_sends(self, sizes: Sizes) -> int:
        """Return the most messages of one kernel call."""
        return self.kernels.sends(sizes)

    def most_arrays(self, sizes: Sizes) -> int:
        """Return the most arrays of one kernel call."""
        return self.most_sends(sizes) if self.kernels.arrays is None else self.kernels.arrays(sizes)

    def execution_messages(self, group: int) -> float:
        """Return the messages of one execution in a group of that size, roughly."""
        if self.runs.execution_messages is not None:
            return self.runs.execution_messages(group)
        return 4 * group * math.log2(group + 2)

    def replace(self, **changes: Any) -> Protocol:
        """Return the same protocol with some parts changed."""
        return dataclasses.replace(self, **changes)
