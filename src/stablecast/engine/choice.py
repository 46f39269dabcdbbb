"""Which stability protocol a live group runs, and with which parameters.

Who joins names a protocol (by its name, by the path of a file that defines one, or as a ``Protocol``) and may
give options, which are those of ``stablecast simulate PROTOCOL``.  Three things settle its parameters:

1. What belongs to the group is set by role: times follow the group's step, and results of gossip go to all.
   What a simulation models, and a live group has, is as it is.  An option that would set either is refused.
2. The other options hold from joining on (``settable``).
3. What follows from the members of a view, their number and their zones, is found anew for each view.

All members have to make the same choice.  They compare its identity before a view takes one of them in.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stablecast.compiling.cache import PACKAGE
from stablecast.engine.auto import AUTO, WITHOUT_OPTIONS
from stablecast.engine.pace import TREE_DEGREE
from stablecast.errors import InvalidInput, unknown_name
from stablecast.membership.identity import Identity
from stablecast.protocols import is_path, protocol_names
from stablecast.protocols import protocol as find_protocol
from stablecast.protocols.contract import (
    FLAG,
    PROBABILITY,
    TIME,
    TIMEOUT,
    Parameter,
    Protocol,
    Role,
    Sizes,
)
from stablecast.protocols.contract.parameters import BILLION, PS_PER

PS = 10**12
STEERED = (Role.PAUSE, Role.STEP, Role.EVERY, Role.RESEND)
"""The roles of times that follow the group's pace: the last is that of retransmissions, the others are a
step."""
WORDS = {Role.SPREAD: "both", Role.SNAPSHOT: "use"}
"""Results of gossip go to all at once, and again with later gossip, since they may be lost.  Members' arrays
are taken as late as can be, so that a message that comes while a round waits for its first step becomes
stable with that round."""
OF_THE_GROUP = {
    **dict.fromkeys(STEERED, "it follows the group's pace"),
    Role.SPREAD: "results go to all, and with gossip",
    Role.SNAPSHOT: "arrays are taken when they are used",
    Role.SILENCE: "the group's views tell who has failed",
    Role.ADMISSION: "the group's views let newcomers in",
    Role.HANDLERS: "members that keep messages for newcomers are chosen when they join",
    Role.FILL: "a live group looks for stability as soon as anything is unstable",
    Role.UNSAFE: "it leaves out what makes the protocol safe",
    Role.MODEL: "it models a network, a clock or a wire, which a live group has for real",
}
"""By role, why an option cannot be set."""
SET = {Role.PULL: 1}
"""By role, what is set and no option: results that were lost are asked for, and not confirmed."""
DEFAULTS: dict[Role, int | str] = {Role.CLOCK: "logical", Role.TREE: TREE_DEGREE}
"""By role, defaults that are others than a simulation's."""
REFUSED = {
    Role.CLOCK: {"physical": "stability would wait until a clock that was set back has caught up"},
    Role.TREE: {"network": "members do not know the tree of their network"},
}
"""By role, words that are not accepted, and why."""
TELLS_TIME_OF_DAY = {Role.CLOCK: "hybrid"}
"""By role, the word with which a protocol reads the time of day."""


@dataclass(frozen=True)
class Choice:
    """A protocol and the options that were given for it."""

    protocol: Protocol
    given: Mapping[str, int]
    """What was given, as kernels see it, by the parameters' names."""
    identity: str
    """What all members of a group have in common."""

    @property
    def takes_late(self) -> bool:
        """Whether members' arrays are taken when they are used, not when a round begins."""
        return any(parameter.role is Role.SNAPSHOT for parameter in self.protocol.parameters)

    @property
    def relays(self) -> bool:
        """Whether messages to all are passed on from member to member."""
        return any(parameter.default for parameter in self.protocol.having(Role.RELAY))

    def values(self, step_s: float, resend_s: float) -> dict[str, int]:
        """Return the parameters that are set in a group with such a pace."""
        found = self.protocol
        words = {p.name: p.encode(WORDS[p.role]) for p in found.parameters if p.role in WORDS}
        numbers = {p.name: SET[p.role] for p in found.parameters if p.role in SET}
        return dict(self.given) | words | numbers | times_of(found, step_s, resend_s)

    def sizes(
        self,
        members: int,
        step_s: float,
        *,
        resend_s: float | None = None,
        zones: Sequence[str] = (),
        audiences: tuple[tuple[int, ...], ...] = (),
    ) -> Sizes:
        """Return the sizes of a live group, in which every member is a source; with zones and audiences."""
        set_values = self.values(step_s, step_s if resend_s is None else resend_s)
        values = self.protocol.parameter_values(set_values, members)
        known = tuple(zones) if any(zones) else ()
        columns = tuple(range(members))
        return Sizes(members, members, members, 8, values, True, columns, audiences, zones=known)

    @property
    def reads_time_of_day(self) -> bool:
        """Whether members have to be told the time of day."""
        return any(
            self.given[p.name] == p.encode(TELLS_TIME_OF_DAY[p.role])
            for p in self.protocol.parameters
            if p.role in TELLS_TIME_OF_DAY
        )


def times_of(protocol: Protocol, step_s: float, resend_s: float) -> dict[str, int]:
    """Return the times of a protocol that follow the group's pace, by name."""
    return {
        p.name: round((resend_s if p.role is Role.RESEND else step_s) * PS)
        for p in protocol.parameters
        if p.role in STEERED
    }


def choose(protocol: str | Protocol, options: Mapping[str, Any] | None = None) -> Choice:
    """Return a choice of protocol and options; what a live group cannot run is refused."""
    found = live_protocol(protocol)
    for option, value in (options or {}).items():
        _check_option(found, option, value)
    accepted = settable(found)
    given = {p.name: p.encode(None) for p in accepted.values() if p.role in DEFAULTS}
    for option, value in (options or {}).items():
        if value is not None:
            given[accepted[option].name] = accepted[option].encode(value)
    found.parameter_values(given, 2)
    return Choice(found, given, str(identity_of(found, given)))


def settable(protocol: Protocol) -> dict[str, Parameter]:
    """Return the options of a protocol that a live group can set, as it has them."""
    return {
        option: dataclasses.replace(
            parameter,
            default=DEFAULTS.get(parameter.role, parameter.default),
            choices={
                word: number
                for word, number in parameter.choices.items()
                if word not in REFUSED.get(parameter.role, {})
            },
        )
        for option, parameter in protocol.options.items()
        if parameter.role not in OF_THE_GROUP
    }


def parameter_table() -> list[str]:
    """Return the table of the docs: parameters that can be set live, and why the others cannot."""
    having: dict[tuple[str, str, str], list[str]] = {}
    for name in live_protocols():
        found = find_protocol(name)
        accepted = settable(found)
        for option, parameter in found.options.items():
            if option in accepted:
                own = accepted[option]
                shown = own.default_words or f"{own.default}"
                told = (f"`{option}`", f"yes: {own.accepted}", f"`{shown}`")
            else:
                told = (f"`{option}`", f"no: {OF_THE_GROUP[parameter.role]}", "")
            having.setdefault(told, []).append(f"`{name}`")
    lines = ["| parameter | can be set | default | protocols |", "|---|---|---|---|"]
    for (option, live, default), names in sorted(having.items(), key=lambda entry: entry[0]):
        lines.append(f"| {option} | {live} | {default} | {', '.join(names)} |")
    return lines


def live_protocols() -> list[str]:
    """Return the protocols that live groups can run: all but those that deliver messages themselves."""
    return protocol_names(lambda protocol: not protocol.runs.delivers)


def live_protocol(named: str | Protocol) -> Protocol:
    """Return a protocol, if live groups can run it."""
    if not isinstance(named, str | Protocol):
        raise unknown_name("protocol", str(named), live_protocols())
    found = find_protocol(named)
    if found.runs.delivers:
        raise InvalidInput(
            f"protocol '{found.name}' delivers messages itself, so live groups cannot run it (accepted:"
            f" {', '.join(live_protocols())}, a file, or delivery 'bimodal' without a protocol)"
        )
    return found


def check_receivers(protocol: Protocol) -> None:
    """Refuse a protocol in whose groups every member has to receive from every sender."""
    if not takes_receivers(protocol):
        accepted = [name for name in live_protocols() if takes_receivers(find_protocol(name))]
        raise InvalidInput(
            f"{protocol.name} needs all members as receivers of all senders (accepted: receives=True, or one"
            f" of {', '.join(accepted)})"
        )


def takes_receivers(protocol: Protocol) -> bool:
    """Tell whether members of a live group of this protocol may receive from some senders alone."""
    return protocol.runs.groups_may_differ or protocol.runs.by_minimum


def absolute(protocol: str) -> str:
    """Return a protocol's name, or the path of its file as other processes find it."""
    return str(Path(protocol).resolve()) if is_path(protocol) else protocol


def _check_option(protocol: Protocol, option: str, value: Any = None) -> None:
    known, accepted = protocol.options, settable(protocol)
    if option not in known:
        raise unknown_name(f"option of {protocol.name}", str(option), sorted(accepted))
    if option not in accepted:
        raise InvalidInput(
            f"option {option} of {protocol.name} is not accepted in a live group:"
            f" {OF_THE_GROUP[known[option].role]} (accepted: {', '.join(sorted(accepted)) or 'none'})"
        )
    refused = REFUSED.get(known[option].role, {})
    if isinstance(value, str) and value in refused:
        raise InvalidInput(
            f"{option} {value} of {protocol.name} is not accepted in a live group: {refused[value]}"
            f" (accepted: {accepted[option].accepted})"
        )


# Options as text


def read_options(protocol: str | Protocol, words: Sequence[str]) -> dict[str, Any]:
    """Return options that were given as ``name=value``, such as ``subgroup=4``."""
    if words and protocol == AUTO:
        raise InvalidInput(WITHOUT_OPTIONS)
    found = live_protocol(protocol) if words else None
    options: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise InvalidInput(f"'{word}' is not accepted (accepted: NAME=VALUE, such as subgroup=4)")
        if name in options:
            raise InvalidInput(f"{name} is set twice (accepted: once)")
        assert found is not None
        _check_option(found, name)
        options[name] = _value_of(found.options[name], text.strip())
        _check_option(found, name, options[name])
    return options


def _value_of(parameter: Parameter, text: str) -> Any:
    kind = parameter.kind.type
    try:
        return {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        raise InvalidInput(
            f"{parameter.option_name} '{text}' is not accepted (accepted: {parameter.accepted})"
        ) from None


# Identity


def identity_of(protocol: Protocol, given: Mapping[str, int]) -> Identity:
    """Return what members compare: options count where they are not at their defaults."""
    told = [
        f"{option}={_shown(parameter, given[parameter.name])}"
        for option, parameter in sorted(settable(protocol).items())
        if given.get(parameter.name, parameter.encode(None)) != parameter.encode(None)
    ]
    return Identity(protocol.name, ",".join(told), _source_of(protocol))


def _shown(parameter: Parameter, encoded: int) -> str:
    """Return an option's value as people give it."""
    if parameter.kind is FLAG:
        return "true" if encoded else "false"
    words = {number: str(word) for word, number in parameter.choices.items()}
    if encoded in words:
        return words[encoded]
    scale = PS_PER[parameter.unit] if parameter.kind in (TIME, TIMEOUT) else parameter.scale
    return f"{encoded / (BILLION if parameter.kind is PROBABILITY else scale):.15g}"


def _source_of(protocol: Protocol) -> str:
    """Return a digest of what a protocol declares, and of the text of its files outside this package."""
    declared = [
        (message.__name__, [(name, kind.storage) for name, kind in fields.items()])
        for message, fields in protocol.declaration.fields.items()
    ]
    digest = hashlib.blake2s(repr((declared, protocol.declaration.parameters)).encode(), digest_size=8)
    for text in sorted(set(_foreign_texts(protocol))):
        digest.update(text)
    return digest.hexdigest()


def _foreign_texts(protocol: Protocol) -> Iterator[bytes]:
    kernels = protocol.kernels
    functions: list[Any] = [*kernels.receive.values(), protocol.places, protocol.resolve]
    functions += [getattr(kernels, call) for call in ("init", "start", "timer", "gone", "attach", "take")]
    files = {Path(protocol.file)} if protocol.file else set()
    for plain in _with_what_they_hold(functions):
        file = Path(plain.__code__.co_filename)
        if PACKAGE in file.parents:
            continue
        if not file.is_file():  # it was typed in
            yield plain.__code__.co_code
        files.add(file.resolve())
    yield from (file.read_bytes() for file in files if file.is_file())


def _with_what_they_hold(functions: Iterable[Any]) -> Iterator[Callable[..., Any]]:
    """Yield the functions of kernels, and those of kernels that they were made with."""
    for function in functions:
        plain = getattr(function, "py_func", function)
        if inspect.isfunction(plain):
            yield plain
            yield from _with_what_they_hold(cell.cell_contents for cell in plain.__closure__ or ())
