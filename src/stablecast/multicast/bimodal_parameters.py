"""Parameters of bimodal multicast, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping

from stablecast.errors import InvalidInput
from stablecast.multicast.buffer_policy import MILLI, POLICIES, TWO_BUFFERS, UNTIL_STABLE
from stablecast.multicast.bufferers import CRC16, MIX, SHUFFLE
from stablecast.protocols.contract import (
    CHOICE,
    FLAG,
    PROBABILITY,
    REAL,
    TIME,
    WHOLE,
    Parameter,
    Role,
    hidden,
)
from stablecast.protocols.contract.parameters import VALUE_MAX
from stablecast.theory.epidemic import spread_rounds

PS_PER_MS = 10**9
KEPT_FOR = 0.001
"""By default messages are kept for as many rounds as it takes until, from a single member, all but this share
of them have come to everyone."""
ROUNDS_MAX, MESSAGES_MAX, BUDGET_MAX = 1 << 20, 1 << 24, 1 << 30
COPIES_MAX = 1_000_000_000

PARAMETERS = (
    Parameter(
        "gossip_every",
        TIME,
        100.0,
        "Time between two rounds of a member's gossip.",
        unit="ms",
        role=Role.EVERY,
        above=0,
    ),
    Parameter(
        "keep",
        WHOLE,
        None,
        "Rounds for which a message is kept.",
        unit="rounds",
        least=1,
        most=ROUNDS_MAX,
        default_words="as many as gossip needs to reach all members",
    ),
    Parameter(
        "policy",
        CHOICE,
        "rounds",
        "Who keeps a message, and for how long: rounds, everyone for --keep-rounds; bufferers, about"
        " --copies members that a hash names; two-buffers, everyone for --short-rounds and the bufferers"
        " for --keep-rounds; until-stable, everyone until everyone has it.",
        choices=POLICIES,
    ),
    Parameter(
        "copies",
        REAL,
        6.0,
        "Members that keep each message as its bufferers, on average.",
        above=0,
        most=COPIES_MAX,
        scale=MILLI,
    ),
    Parameter(
        "hash",
        CHOICE,
        "mix",
        "The hash of message and member that names the bufferers: mix, a mixer of 64-bit numbers;"
        " shuffle, the table of the paper; or crc16.",
        choices={"mix": MIX, "shuffle": SHUFFLE, "crc16": CRC16},
    ),
    Parameter(
        "short",
        WHOLE,
        3,
        "Rounds for which everyone keeps a message in the short-term buffer, with two-buffers.",
        unit="rounds",
        least=0,
        most=ROUNDS_MAX,
    ),
    hidden("messages", Role.MESSAGES, 100),
    hidden("interval", Role.INTERVAL, 10 * PS_PER_MS),
    hidden("data_bytes", Role.DATA_BYTES, 1000),
    hidden("name_bytes", Role.ENTRY_BYTES, 4),
    hidden("receive_loss", Role.DATA_LOSS),
    Parameter(
        "send_omission",
        PROBABILITY,
        0.0,
        "Probability that a message is not multicast at all, so that only its sender has it.",
    ),
    Parameter(
        "recast",
        FLAG,
        False,
        "Never multicast a message again, even if many members lack it.",
        option="no_recast",
        choices={False: 1, True: 0},
    ),
    Parameter(
        "push",
        FLAG,
        False,
        "Send only messages that were asked for, and not what another member's gossip lacks.",
        option="no_push",
        choices={False: 1, True: 0},
    ),
    Parameter(
        "view_missing",
        PROBABILITY,
        0.0,
        "Probability that a member's view lacks another member that is there; each member's view is its own.",
    ),
    hidden("initial", Role.INITIAL),
    hidden("limit", Role.DERIVED, 32),  # messages asked for, and sent, in one answer to gossip
    Parameter(
        "budget",
        WHOLE,
        None,
        "Messages that a member may keep; the one kept longest makes room.",
        unit="messages",
        least=1,
        most=BUDGET_MAX,
        default_words="any number",
    ),
    hidden("ending", Role.DERIVED),  # when it is over, in picoseconds
    Parameter(
        "budget_bytes",
        WHOLE,
        None,
        "Bytes of messages that a member may keep; the smaller of both budgets holds.",
        least=1,
        most=VALUE_MAX - 1,
        default_words="any number",
    ),
)


def resolve(values: Mapping[str, int], group: int) -> dict[str, int]:
    """Set what follows from other parameters.

    Messages are kept for as many rounds as gossip needs.  It is over when the last message has been sent and
    kept for as long as any; with ``until-stable``, when all is stable.
    """
    keep = values["keep"] or spread_rounds(max(group, 2), KEPT_FOR)
    sending = values["messages"] * values["interval"]
    ending = sending + (max(keep, values["short"]) + 2) * values["gossip_every"]
    budgets = (values["budget"], values["budget_bytes"] // max(values["data_bytes"], 1))
    return {
        "keep": keep,
        "budget": min((budget for budget in budgets if budget > 0), default=0),
        "ending": values["ending"] or ending,
    }


def check(values: Mapping[str, int]) -> None:
    """Refuse what makes no sense."""
    if not 1 <= values["messages"] <= MESSAGES_MAX:
        raise InvalidInput(
            f"messages {values['messages']} is not accepted (accepted: 1 to {MESSAGES_MAX} for bimodal)"
        )
    if 0 < values["budget_bytes"] < values["data_bytes"]:
        raise InvalidInput(
            f"budget_bytes {values['budget_bytes']} has no room for one message (accepted:"
            f" {values['data_bytes']} or more)"
        )
    if values["policy"] == UNTIL_STABLE and (values["view_missing"] or values["initial"]):
        raise InvalidInput(
            "until-stable waits for those alone whom a member knows, so nothing would be stable in truth"
            " (accepted with members that join later, or with view_missing: rounds, bufferers, two-buffers)"
        )
    if values["policy"] == TWO_BUFFERS and values["short"] > values["keep"]:
        raise InvalidInput(
            f"short_rounds {values['short']} is more than the rounds of the long-term buffer,"
            f" {values['keep']}"
        )
