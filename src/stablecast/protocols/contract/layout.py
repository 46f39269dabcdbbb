"""From what a protocol declares to where it lies: in a member's row, in a message, and on the wire."""

from __future__ import annotations

import builtins
import hashlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling.views import (
    EVERY_MEMBER,
    NUMBERS_MAX,
    Layout,
    MessageLayout,
    Rows,
    Slot,
    Words,
    register_message,
)
from stablecast.errors import InvalidInput
from stablecast.protocols.contract.fields import Kind, Sizes

Placement = Mapping[str, Any]
"""For each field of the overlay its value for all members: an array, or a pair of all entries and where each
member's begin; an array that all share as it is."""
LONG_BYTES = 8
PLACED = ("place", "list", "shared")
"""How fields of the overlay are stored."""
COUNT_MAX = (1 << 31) - 1
"""Most entries of a field, and most messages of a call."""


def declared(kind: type) -> dict[str, Kind]:
    """Return the fields of a state or a message, with their kinds, in the order of their declaration."""
    found: dict[str, Kind] = {}
    for base in reversed(kind.__mro__):
        for name, hint in _hints(base).items():
            kinds = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Kind)]
            if not kinds:
                raise InvalidInput(
                    f"{_where(base, name)}: field {name} of {kind.__name__} has no kind (accepted: Number,"
                    " Round, Time, Sources, Members, Place, Places, Overlay, or one of entries() and"
                    " set_of())"
                )
            if name in found:
                raise InvalidInput(f"{_where(base, name)}: field {name} of {kind.__name__} is declared twice")
            found[name] = kinds[0]
    return found


def _hints(base: type) -> dict[str, Any]:
    """Return what a class itself annotates; functions in annotations see the names of its module."""
    module = vars(sys.modules.get(base.__module__, builtins))
    hints = {}
    for name, hint in inspect.get_annotations(base).items():
        text = getattr(hint, "__forward_arg__", hint)  # as a named tuple keeps it
        if not name.startswith("_"):
            hints[name] = _evaluated(base, name, text, module) if isinstance(text, str) else text
    return hints


def _evaluated(base: type, name: str, text: str, module: dict[str, Any]) -> Any:
    try:
        return eval(text, module)
    except Exception as error:
        raise InvalidInput(f"{_where(base, name)}: {type(error).__name__}: {error}") from None


RESERVED = (*EVERY_MEMBER, "address", "layout", "view")
"""What every member has, and what its view in Python uses."""


def _where(kind: type, name: str = "") -> str:
    """Return the file of a class, with the line of one of its fields, as far as they can be found."""
    try:
        lines, first = inspect.getsourcelines(kind)
    except (OSError, TypeError):
        return kind.__module__
    matching = [k for k, line in enumerate(lines) if name and re.match(rf"\s*{name}\s*:", line)]
    return f"{inspect.getsourcefile(kind)}, line {first + (matching[-1] if matching else 0)}"


def checked_count(function: Callable[[Sizes], int], sizes: Sizes, what: str, *, least: int = 0) -> int:
    """Return a count that a protocol gives as a function of sizes; refuse what is none."""
    found = _count_or_reason(function, sizes, least=least)
    if isinstance(found, str):
        raise InvalidInput(f"{what} {found}")
    return found


def _count_or_reason(function: Callable[[Sizes], int], sizes: Sizes, *, least: int = 0) -> int | str:
    if not callable(function):
        return f"is {function!r} (accepted: a function of the sizes)"
    try:
        count = function(sizes)
    except InvalidInput:
        raise
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise InvalidInput(f"{at.filename}, line {at.lineno}: {type(error).__name__}: {error}") from None
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not least <= count <= COUNT_MAX:
        return f"is {count!r} (accepted: a whole number, {least} to {COUNT_MAX:,})"
    return int(count)


class Declaration:
    """All that a protocol declares, laid out."""

    def __init__(self, name: str, state: type, messages: Sequence[type], parameters: Iterable[str]) -> None:
        self.name, self._state = name, state
        self.messages = tuple(messages)
        self.state = declared(state)
        self.parameters = tuple(parameters)
        self._check(state)
        self._word = Words.COUNT
        self.message_arrays = {
            message: {field: self._words(2) for field, kind in fields.items() if kind.storage != "number"}
            for message, fields in self.fields.items()
        }
        self.parameter_words = {parameter: self._words(1) for parameter in self.parameters}
        self.slots = self._slots()
        for kind, message in enumerate(self.messages):
            register_message(message, self._message_layout(kind, message))

    def _words(self, count: int) -> int:
        self._word += count
        return self._word - count

    @cached_property
    def fields(self) -> dict[type, dict[str, Kind]]:
        """The fields of each message."""
        return {message: declared(message) for message in self.messages}

    def _check(self, state: type) -> None:
        for name in (name for name in self.state if name in RESERVED):
            owner = next(base for base in state.__mro__ if name in inspect.get_annotations(base))
            raise InvalidInput(
                f"{_where(owner, name)}: field {name} is one that every member has already (accepted: another"
                f" name than {', '.join(RESERVED)})"
            )
        for message, fields in self.fields.items():
            for name, kind in fields.items():
                if kind.rows or kind.storage in ("longs", *PLACED):
                    raise InvalidInput(
                        f"{_where(message, name)}: field {name} of {message.__name__} cannot be sent"
                        " (accepted: numbers, sets, and arrays of sequence numbers in one dimension)"
                    )
            count = sum(kind.storage == "number" for kind in fields.values())
            if count > NUMBERS_MAX:
                raise InvalidInput(
                    f"{_where(message)}: {message.__name__} has {count} numbers (accepted: up to"
                    f" {NUMBERS_MAX}; put more into an array)"
                )

    def check_sizes(self, sizes: Sizes) -> None:
        """Refuse fields whose lengths cannot be, before anything is allocated by them."""
        for owner, fields in ((self._state, self.state), *self.fields.items()):
            for name, kind in fields.items():
                for what, function in (("length", kind.length), ("rows", kind.rows), ("bytes", kind.wire)):
                    if function is not None:
                        found = _count_or_reason(function, sizes)
                        if isinstance(found, str):
                            raise InvalidInput(f"{_where(owner, name)}: the {what} of {name} {found}")

    def _slots(self) -> dict[str, Slot]:
        slots, numbers = {}, 0
        words = {"sequences": 2, "longs": 2, "place": 1, "list": 2, "shared": 2}
        for name, kind in self.state.items():
            if kind.storage == "number":
                slots[name] = Slot("number", numbers)
                numbers += 1
            else:
                has_rows = kind.rows is not None
                slots[name] = Slot(kind.storage, self._words(words[kind.storage] + has_rows), has_rows)
        return slots

    def _message_layout(self, kind: int, message: type) -> MessageLayout:
        numbers = [name for name, each in self.fields[message].items() if each.storage == "number"]
        return MessageLayout(
            kind, {name: place for place, name in enumerate(numbers)}, self.message_arrays[message]
        )

    @property
    def word_count(self) -> int:
        """Words of the block beyond those that every group has."""
        return self._word - Words.COUNT

    def layout(self, *, wide: bool) -> Layout:
        """Return where compiled code finds the fields, with sequence numbers of 64 or of 32 bits."""
        fields, params = tuple(self.slots.items()), tuple(self.parameter_words.items())
        digest = hashlib.blake2s(repr((fields, params)).encode(), digest_size=6).hexdigest()
        return Layout(f"{digest}_{64 if wide else 32}", wide, fields, params)

    # Room

    def number_width(self, sizes: Sizes) -> int:
        """Return the entries of 64 bits of a member's row."""
        numbers = sum(kind.storage == "number" for kind in self.state.values())
        return max(1, numbers + self._width("longs", sizes))

    def sequence_width(self, sizes: Sizes) -> int:
        """Return the entries of a member's row of sequence numbers."""
        return max(1, self._width("sequences", sizes))

    def _width(self, storage: str, sizes: Sizes) -> int:
        return sum(kind.size(sizes) for kind in self.state.values() if kind.storage == storage)

    def message_width(self, message: type, sizes: Sizes) -> int:
        """Return the entries of the arrays that a message carries."""
        fields = self.fields[message].values()
        return sum(kind.length(sizes) for kind in fields if kind.storage != "number")

    def row_width(self, sizes: Sizes) -> int:
        """Return the most entries that any message carries, at least as many as there are sources."""
        return max([sizes.tracked, *(self.message_width(message, sizes) for message in self.messages)])

    def number_count(self, message: type) -> int:
        """Return how many whole numbers a message has."""
        return sum(kind.storage == "number" for kind in self.fields[message].values())

    def wire_bytes(self, sizes: Sizes) -> list[int]:
        """Return, for each message, its bytes beyond the header."""
        return [sum(kind.wire(sizes) for kind in self.fields[message].values()) for message in self.messages]

    def place_of(self, name: str, sizes: Sizes) -> int:
        """Return where a row of sequence numbers has an array, -1 where it has none of that name."""
        position = 0
        for each, kind in self.state.items():
            if kind.storage == "sequences":
                if each == name and kind.length(sizes) > 0:
                    return position
                position += kind.size(sizes)
        return -1

    # Memory

    def make_rows(
        self,
        sizes: Sizes,
        *,
        received: NDArray[np.integer[Any]],
        stable: NDArray[np.integer[Any]],
        attached: NDArray[np.int64],
        seed: int,
        places: Placement,
        only: int | None = None,
    ) -> Rows:
        """Make the arrays of a group, or of one member; ``received`` and ``stable`` are the driver's."""
        count, dtype = len(received), received.dtype
        rows = Rows(
            self.layout(wide=dtype == np.int64),
            words=self.word_count,
            single=only is not None,
            received=received,
            stable=stable,
            numbers=np.zeros((count, self.number_width(sizes)), np.int64),
            sequences=np.zeros((count, self.sequence_width(sizes)), dtype),
            attached=attached,
        )
        rows.set("group_size", sizes.group)
        rows.set("seed", seed)
        rows.set("guarded", int(sizes.guarded))
        for name, word in self.parameter_words.items():
            rows.block[word] = sizes.params[name]
        self._lay_out_state(rows, sizes)
        self._lay_out_messages(rows, sizes)
        self._put_places(rows, places, sizes.group, only)
        return rows

    def _lay_out_state(self, rows: Rows, sizes: Sizes) -> None:
        numbers = sum(kind.storage == "number" for kind in self.state.values())
        position = {"sequences": 0, "longs": numbers}
        for name, kind in self.state.items():
            if kind.storage in position:
                item = rows.sequences.itemsize if kind.storage == "sequences" else LONG_BYTES
                word = self.slots[name].at
                rows.block[word], rows.block[word + 1] = item * position[kind.storage], kind.length(sizes)
                if kind.rows is not None:
                    rows.block[word + 2] = kind.rows(sizes)
                position[kind.storage] += kind.size(sizes)

    def _lay_out_messages(self, rows: Rows, sizes: Sizes) -> None:
        for message, arrays in self.message_arrays.items():
            position = 0
            for name, word in arrays.items():
                length = self.fields[message][name].length(sizes)
                rows.block[word], rows.block[word + 1] = rows.sequences.itemsize * position, length
                position += length

    def _put_places(self, rows: Rows, places: Placement, group: int, only: int | None) -> None:
        wanted = {name: slot for name, slot in self.slots.items() if slot.storage in PLACED}
        if not isinstance(places, Mapping):
            raise InvalidInput(f"{self.name}: places gives {places!r} (accepted: a value for each place)")
        if set(places) != set(wanted):
            raise self._misplaced(
                f"places gives {', '.join(sorted(places)) or 'nothing'}, and the state declares"
                f" {', '.join(sorted(wanted)) or 'nothing'}"
            )
        for name, slot in wanted.items():
            if slot.storage == "place":
                values = self._checked_place(name, places[name], group)
                rows.keep_at(slot.at, values if only is None else values[only : only + 1].copy())
                continue
            if slot.storage == "shared":
                shared = self._checked_shared(name, places[name])
                rows.keep_at(slot.at, shared)
                rows.block[slot.at + 1] = shared.size
                continue
            flat, start = self._checked_list(name, places[name], group)
            if only is not None:
                flat = flat[start[only] : start[only + 1]].copy()
                start = np.array([0, flat.size], np.int64)
            rows.keep_at(slot.at, flat)
            rows.keep_at(slot.at + 1, start)

    def _checked_place(self, name: str, given: Any, group: int) -> NDArray[np.int32]:
        values = np.ascontiguousarray(given, np.int32)
        if values.shape != (group,):
            raise self._misplaced(
                f"places gives {name} as an array of {_shape(values)} (accepted: a number for each of the"
                f" {group} members)"
            )
        return values

    def _checked_list(self, name: str, given: Any, group: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        if not isinstance(given, tuple) or len(given) != 2:
            raise self._misplaced(
                f"places gives {name} as {type(given).__name__} (accepted: a pair of all entries, and where"
                " each member's begin)"
            )
        flat, start = np.ascontiguousarray(given[0], np.int32), np.ascontiguousarray(given[1], np.int64)
        ends = start.shape == (group + 1,) and start[0] == 0 and start[-1] == flat.size
        if not ends or (np.diff(start) < 0).any():
            raise self._misplaced(
                f"places gives {name} with {_shape(start)} beginnings of {_shape(flat)} entries (accepted:"
                f" {group + 1}, growing from 0 to the number of entries)"
            )
        return flat, start

    def _checked_shared(self, name: str, given: Any) -> NDArray[np.int32]:
        values = np.ascontiguousarray(given, np.int32)
        if values.ndim != 1:
            raise self._misplaced(
                f"places gives {name} as an array of {_shape(values)} (accepted: one of one dimension)"
            )
        return values

    def _misplaced(self, what: str) -> InvalidInput:
        return InvalidInput(f"{_where(self._state)}: {self.name}: {what}")


def _shape(array: NDArray[Any]) -> str:
    return " x ".join(f"{size}" for size in array.shape) or "no"
