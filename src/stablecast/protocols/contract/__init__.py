"""What a protocol is made of, and how drivers find and drive one."""

from stablecast.protocols.contract.kernels import (
    GROUP,
    Member,
    Message,
    Outbox,
    declare_stable,
    finish,
    gather,
    send,
    send_array,
    send_received,
    set_timer,
)
from stablecast.protocols.contract.machine import Machine, Received, Sent
from stablecast.protocols.contract.protocol import Place, Protocol

__all__ = [
    "GROUP",
    "Machine",
    "Member",
    "Message",
    "Outbox",
    "Place",
    "Protocol",
    "Received",
    "Sent",
    "declare_stable",
    "finish",
    "gather",
    "send",
    "send_array",
    "send_received",
    "set_timer",
]
