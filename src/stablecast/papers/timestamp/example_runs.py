"""Figures 2 and 3 of the paper, run by the protocols' own kernels over channels of the given lengths."""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.protocols import timestamp
from stablecast.testing.reference.channels import ChannelRun
from stablecast.theory.timestamp import FIGURE_2

S1, S2, R1, R2 = range(4)
NAMES = ("s1", "s2", "r1", "r2")
AUDIENCES = ((R1, R2), (R1, R2))
FAR_OFF = 10**9
START = 20
"""When the message of Figure 2 is sent, in units; everyone has been sending and acknowledging for long."""


def figure_2(protocol: str, sender: int, fineness: int) -> ChannelRun:
    """Play the worst run of Figure 2 for a message of one sender; a unit has ``fineness`` ticks.

    The other sender has sent a tick before, so that its next message comes as late as can be; both receivers
    acknowledge just before what they wait for arrives.
    """
    unit, other = fineness, 1 - sender
    params = {"ack_every": unit} | ({"send_every": unit} if protocol == "timestamp" else {"know": 1})

    def data_delay(column: int, member: int, k: int) -> int:
        return int(FIGURE_2.message[column][member - R1]) * unit

    def ack_delay(source: int, dest: int, k: int) -> int | None:
        to_sender = source >= R1 and dest < R1
        return int(FIGURE_2.ack[source - R1][dest]) * unit if to_sender else None

    run = ChannelRun(
        protocol,
        members=4,
        leaders=(S1, S2),
        audiences=AUDIENCES,
        data_delay=data_delay,
        ack_delay=ack_delay,
        params=params,
    )
    start = START * unit
    awaited = start + data_delay(sender, R1, 1)
    if protocol == "timestamp":
        awaited = max(awaited, start + unit - 1 + data_delay(other, R1, 1))
    run.set_phases(sender, ack_at=FAR_OFF, sent_at=start % unit - unit)
    run.set_phases(other, ack_at=FAR_OFF, sent_at=(start - 1) % unit - unit)
    for receiver in (R1, R2):
        run.set_phases(receiver, ack_at=awaited % unit)
    run.send(sender, start)
    run.run(start + 40 * unit)
    return run


@dataclass(frozen=True)
class Step:
    """Everyone's state after a part of Figure 3."""

    name: str
    clocks: tuple[int, ...]
    """Of s1, s2, r1, r2."""
    have: tuple[int, int]
    """The newest timestamps of s1 and s2 at a receiver."""
    acknowledged: int
    buffers: tuple[tuple[int, ...], tuple[int, ...]]
    """Timestamps of the messages that s1 and s2 still hold."""


def figure_3(clock: str = "logical") -> tuple[ChannelRun, tuple[Step, ...]]:
    """Play Figure 3, by default with logical clocks; return the run and the state after (a) to (d)."""
    run = ChannelRun(
        "timestamp",
        members=4,
        leaders=(S1, S2),
        audiences=AUDIENCES,
        data_delay=lambda column, member, k: 2,
        ack_delay=lambda source, dest, k: 2 if source >= R1 and dest < R1 else None,
        params={"ack_every": 10, "send_every": FAR_OFF, **timestamp.PROTOCOL.encode({"clock": clock})},
    )
    for sender in (S1, S2):
        run.set_phases(sender, ack_at=FAR_OFF, sent_at=0)
    for receiver in (R1, R2):
        run.set_phases(receiver, ack_at=10)
    for at in range(1, 6):
        run.send(0, at)
    run.send(1, 6)
    run.send(0, 14)
    run.send(1, 14)
    steps = []
    for name, until in (("(a)", 9), ("(b)", 13), ("(c)", 17), ("(d)", 24)):
        run.run(until)
        steps.append(_step(run, name))
    return run, tuple(steps)


def _step(run: ChannelRun, name: str) -> Step:
    at_receiver = run.machines[R1].me
    stamps = [_stamps(run, column) for column in (0, 1)]
    received = [int(number) for number in at_receiver.received]
    stable = [int(run.machines[sender].me.stable[column]) for column, sender in enumerate((S1, S2))]
    return Step(
        name=name,
        clocks=tuple(run.clock(member) for member in range(4)),
        have=(stamps[0][received[0] - 1], stamps[1][received[1] - 1]),
        acknowledged=at_receiver.told,
        buffers=(tuple(stamps[0][stable[0] :]), tuple(stamps[1][stable[1] :])),
    )


def _stamps(run: ChannelRun, column: int) -> list[int]:
    """Return the timestamps of all messages sent so far in a column."""
    sent = int(run.machines[run.leaders[column]].me.received[column])
    return [int(stamp) for stamp in run.attached[column, 1 : sent + 1, 0]]
