"""patient_coordp: coordp whose coordinator asks again, by a timer, until everyone has answered.

A protocol from outside the package, with a timer: it is here to test both, and would be a poor one to use,
because nobody repeats INFO.
"""

from stablecast.compiling import kernel
from stablecast.frontier import take_minimum
from stablecast.protocols import coordp
from stablecast.protocols.contract import (
    GROUP,
    Protocol,
    declare_stable,
    finish,
    send,
    send_array,
    send_received,
)
from stablecast.protocols.contract.kernels import NEVER, no_init, set_timer

START, ACK, INFO = 0, 1, 2
EXECUTION, MISSING, FIRST_BIT = 0, 1, 2
COORDINATOR = 0
PATIENCE_PS = 20_000_000_000


init = no_init


@kernel
def start(me, now, out):
    me.reg[EXECUTION] += 1
    me.reg[MISSING] = me.group_size
    me.reg[FIRST_BIT] = 0
    for j in range(me.stable.size):
        me.gathered[0, j] = me.received[j]
    ask(me, now, out)


@kernel
def ask(me, now, out):
    send(out, START, GROUP, me.reg[EXECUTION])
    set_timer(out, now + PATIENCE_PS)


@kernel
def handle_timer(me, now, out):
    ask(me, now, out)


@kernel
def receive(me, message, now, out):
    if message.execution < me.reg[EXECUTION]:
        return
    me.reg[EXECUTION] = message.execution
    if message.kind == INFO:
        declare_stable(me, out, message.execution, message.array)
        finish(out, message.execution)
    elif message.kind == START:
        send_received(out, ACK, COORDINATOR, message.execution)
    elif not (me.reg[FIRST_BIT] >> message.source) & 1:
        me.reg[FIRST_BIT] |= 1 << message.source
        take_minimum(me.gathered[0], message.array)
        me.reg[MISSING] -= 1
        if me.reg[MISSING] == 0:
            set_timer(out, NEVER)
            send_array(out, INFO, GROUP, message.execution, me.gathered[0])


PROTOCOL = Protocol(
    name="patient_coordp",
    title="coordp whose coordinator asks again",
    paper="none",
    kinds=("START", "ACK", "INFO"),
    start=start,
    receive=receive,
    handle_timer=handle_timer,
    place=coordp.place,
    module=__name__,
    timed=True,
)
