"""For tests of programs that use live groups: a network in memory, and time that does not pass by itself.

For tests of protocols: :func:`check_protocol` runs one in two drivers, on networks drawn from seeds.

>>> from stablecast.testing import Network, VirtualClock
>>> clock = VirtualClock()
>>> network = Network(seed=1, scheduler=clock)
>>> alice, bob = network.transport("alice"), network.transport("bob")
>>> bob.start(print)
>>> alice.send(b"hello", [bob.address])
>>> clock.run_until(1.0)
[(b'hello', ('10.0.0.1', 7000))]
True
"""

from stablecast.live.injection import Faults
from stablecast.testing.clock import Scheduler, VirtualClock
from stablecast.testing.endpoint import MemoryTransport
from stablecast.testing.keystone import CheckFailed, check_protocol
from stablecast.testing.linked import LinkedNetwork
from stablecast.testing.loop import LeftBehind, Stuck, VirtualLoop, run
from stablecast.testing.network import Datagrams, Network

__all__ = [
    "CheckFailed",
    "Datagrams",
    "Faults",
    "LeftBehind",
    "LinkedNetwork",
    "MemoryTransport",
    "Network",
    "Scheduler",
    "Stuck",
    "VirtualClock",
    "VirtualLoop",
    "check_protocol",
    "run",
]
