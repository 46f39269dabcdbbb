"""A machine that was compiled beforehand compiles nothing when it is called."""

import pytest

from stablecast.protocols import protocol, protocol_names
from stablecast.protocols.contract import Received
from stablecast.protocols.contract.machine import COMPILED, lone_machine


@pytest.mark.parametrize("name", protocol_names())
def test_a_machine_of_any_protocol_can_be_compiled_beforehand(name):
    lone_machine(protocol(name)).compile()


def test_calls_find_what_was_compiled():
    machine = lone_machine(protocol("coordp"))
    machine.compile()

    def compiled():
        return {call: list(getattr(getattr(machine._calls, call), "signatures", ())) for call in COMPILED}

    before = compiled()
    machine.init(0)
    (sent,) = machine.start(0)
    machine.receive(Received(sent.kind, 0, sent.numbers, sent.array), 0)
    machine.gone(0, 1)
    machine.take(0, 0, 0, 1)
    machine.attach(0, 1, 1)
    machine.handle_timer(2)
    machine.leave(3)
    assert compiled() == before
