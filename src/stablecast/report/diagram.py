"""A space-time diagram as data: processes, the messages among them, remarks; nothing about how it looks."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stablecast.report.figure import Figure


@dataclass(frozen=True, kw_only=True)
class Arrow:
    """A message from one process to another; processes are numbered as the diagram lists them."""

    source: int
    dest: int
    sent: float
    received: float | None
    """None for a message that is lost."""
    kind: str
    """Its name in the legend, from which colour and dashes follow: ``data``, ``acknowledgement``."""
    label: str = ""
    """What it carries. Where a process sends the same to several at once, this is shown once."""
    hover: str = ""
    """A line more about it, shown when it is pointed at."""
    pale: bool = False
    """Whether it is only there because others are to be seen among it: paler and thinner."""

    def __post_init__(self) -> None:
        times = (self.sent,) if self.received is None else (self.sent, self.received)
        _demand_finite(f"message {self.label!r}", *times)
        if self.received is not None and self.received < self.sent:
            raise ValueError(f"message {self.label!r}: received at {self.received}, sent at {self.sent}")
        if self.source == self.dest:
            raise ValueError(f"message {self.label!r}: process {self.source} sends it to itself")
        if not self.kind:
            raise ValueError(f"message {self.label!r}: its kind has no name")

    @property
    def lost(self) -> bool:
        """Whether it never arrives."""
        return self.received is None


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A remark on a process at a time: ``clock 5``."""

    process: int
    time: float
    text: str

    def __post_init__(self) -> None:
        _demand_finite(f"mark {self.text!r}", self.time)


@dataclass(frozen=True, kw_only=True)
class Span:
    """A stretch of time at a process, measured as in a technical drawing: ``7 units until stable``."""

    process: int
    start: float
    end: float
    text: str

    def __post_init__(self) -> None:
        _demand_finite(f"span {self.text!r}", self.start, self.end)
        if self.end <= self.start:
            raise ValueError(f"span {self.text!r}: from {self.start} to {self.end} no time passes")


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """A run in space and time: a line for each process, an arrow for each message."""

    key: str
    """A short name, for files and links: ``figure3``."""
    title: str
    caption: str
    """What to see in it, and how it was made."""
    time_label: str
    """The name of the time axis, with the unit in brackets: ``time [units]``."""
    processes: tuple[str, ...]
    """Their names, from the top down."""
    messages: tuple[Arrow, ...]
    events: tuple[Mark, ...] = ()
    spans: tuple[Span, ...] = ()

    def __post_init__(self) -> None:
        if not self.processes:
            raise ValueError(f"diagram {self.key}: it has no process")
        if len(set(self.processes)) < len(self.processes):
            raise ValueError(f"diagram {self.key}: two processes have one name: {', '.join(self.processes)}")
        if not (self.messages or self.events or self.spans):
            raise ValueError(f"diagram {self.key}: nothing happens in it")
        for message in self.messages:
            self._demand_process(f"message {message.label!r}", message.source)
            self._demand_process(f"message {message.label!r}", message.dest)
        for mark in self.events:
            self._demand_process(f"mark {mark.text!r}", mark.process)
        for span in self.spans:
            self._demand_process(f"span {span.text!r}", span.process)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of messages in it, by first appearance."""
        return tuple(dict.fromkeys(message.kind for message in self.messages))

    def _repr_html_(self) -> str:
        from stablecast.report.plots.drawing import picture_of_diagram

        return picture_of_diagram(self)

    def _demand_process(self, what: str, number: int) -> None:
        if not 0 <= number < len(self.processes):
            last = len(self.processes) - 1
            raise ValueError(f"diagram {self.key}, {what}: no process {number}, they are 0 to {last}")


def _demand_finite(what: str, *times: float) -> None:
    for time in times:
        if not math.isfinite(time):
            raise ValueError(f"{what}: {time} is not a time")


Drawing = Figure | Diagram
"""What a page shows as a picture."""
