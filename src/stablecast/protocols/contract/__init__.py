"""What a protocol is made of, and how drivers find and drive one."""

from stablecast.protocols.contract.kernels import (
    GROUP,
    Member,
    Message,
    Outbox,
    declare_stable,
    finish,
    send,
    send_array,
    send_received,
)
from stablecast.protocols.contract.machine import Machine, Sent
from stablecast.protocols.contract.protocol import Place, Protocol

__all__ = [
    "GROUP",
    "Machine",
    "Member",
    "Message",
    "Outbox",
    "Place",
    "Protocol",
    "Sent",
    "declare_stable",
    "finish",
    "send",
    "send_array",
    "send_received",
]
