"""What a protocol is made of, and how drivers find and drive one."""

from stablecast.protocols.contract.kernels import (
    GONE,
    GROUP,
    Member,
    Message,
    Outbox,
    admit,
    declare_stable,
    finish,
    gather,
    last_row,
    send,
    send_again,
    send_array,
    send_received,
    set_timer,
    strike_off,
)
from stablecast.protocols.contract.machine import Change, Machine, Received, Sent
from stablecast.protocols.contract.parameters import Parameter, Role
from stablecast.protocols.contract.protocol import Place, Protocol, Sizes

__all__ = [
    "GONE",
    "GROUP",
    "Change",
    "Machine",
    "Member",
    "Message",
    "Outbox",
    "Parameter",
    "Place",
    "Protocol",
    "Received",
    "Role",
    "Sent",
    "Sizes",
    "admit",
    "declare_stable",
    "finish",
    "gather",
    "last_row",
    "send",
    "send_again",
    "send_array",
    "send_received",
    "set_timer",
    "strike_off",
]
