"""A machine that was compiled beforehand compiles nothing when it is called."""

import numpy as np
import pytest

from stablecast.protocols import protocol, protocol_names
from stablecast.protocols.contract import Machine, Received


@pytest.mark.parametrize("name", protocol_names())
def test_a_machine_of_any_protocol_can_be_compiled_beforehand(name):
    Machine(protocol(name), index=0, group_size=1, place=np.zeros(1, np.int32), columns=1).compile()


def test_calls_find_what_was_compiled():
    found = protocol("coordp")
    machine = Machine(found, index=0, group_size=1, place=np.zeros(1, np.int32), columns=1)
    machine.compile()
    before = [getattr(kernel, "signatures", None) for kernel in (found.start, found.receive)]
    (sent,) = machine.start(0)
    machine.receive(Received(sent.kind, 0, sent.execution, sent.array), 0)
    assert before == [getattr(kernel, "signatures", None) for kernel in (found.start, found.receive)]
