"""Bimodal delivery in real processes: all-or-none violations against P_fail, and how much members keep.

    python -m benchmarks.bimodal --members 16 --messages 100000 --loss 0.05

Processes on loopback multicast messages, each in a datagram of its own, while datagrams are lost on purpose;
with ``--omission`` some multicasts leave for nobody.  In the end each tells what it delivered and gave up.  A
message that some gave up violates all-or-none: its sender has it.  The exit code is 1 if there are more of
these than P_fail explains (99 % confidence, each message a trial by itself), if something is neither
delivered nor given up, or if something comes out of order.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import secrets
import statistics
import sys
import time
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.bimodal_member import Account, Part, play
from stablecast.live.injection import Injection
from stablecast.multicast.delivery import Bimodal
from stablecast.multicast.terms import terms_of
from stablecast.theory.buffering import binomial, more_than, two_buffers

CONFIDENCE = 0.99
JOIN_S = 120.0


def most_explained(messages: int, p_fail: float) -> int:
    """Return the most violations that so many messages have with 99 % confidence."""
    return int(np.argmax(more_than(binomial(messages, p_fail)) <= 1 - CONFIDENCE))


def run(options: argparse.Namespace) -> list[Account]:
    """Run the group to its end; return what its members tell."""
    key, rate = secrets.token_bytes(32), options.rate / options.members
    context = multiprocessing.get_context("spawn")
    pipes: list[Connection] = []
    seeds: tuple[str, ...] = ()
    for place in range(options.members):
        injection = Injection(
            loss=options.loss, send_omission=options.omission, seed=options.seed * 1000 + place
        )
        share = options.messages // options.members
        part = Part(f"m{place:02}", bimodal_of(options), seeds, key, share, rate, options.size, injection)
        here, there = context.Pipe()
        context.Process(target=play, args=(part, there), name=part.name, daemon=True).start()
        there.close()
        pipes.append(here)
        address = here.recv()
        seeds = seeds or (address,)
    wait_for_all(pipes)
    ask(pipes, "send")
    time.sleep(2 * terms_of(bimodal_of(options), options.members).rounds * options.gossip_s)
    return ask(pipes, "end")


def ask(pipes: list[Connection], order: str) -> list:
    """Give an order to all members, and return their answers."""
    for pipe in pipes:
        pipe.send(order)
    return [pipe.recv() for pipe in pipes]


def wait_for_all(pipes: list[Connection]) -> None:
    """Wait until everyone is in one view."""
    until = time.monotonic() + JOIN_S
    while set(ask(pipes, "members")) != {len(pipes)}:
        if time.monotonic() > until:
            sys.exit("the members did not come together")
        time.sleep(0.2)


def bimodal_of(options: argparse.Namespace) -> Bimodal:
    """Return how the group delivers; in the original protocol everyone keeps everything for all rounds."""
    short = 0 if options.original else options.short_rounds
    copies = float(options.members) if options.original else options.copies
    return Bimodal(
        p_fail=options.p_fail, loss=options.loss, copies=copies, short_rounds=short, gossip_s=options.gossip_s
    )


def judge(options: argparse.Namespace, accounts: list[Account], seconds: float) -> dict:
    """Return what was found."""
    terms = terms_of(bimodal_of(options), options.members)
    messages = sum(account.sent for account in accounts)
    violated = set().union(*(account.lost for account in accounts))
    got = [sum(account.delivered.values()) + len(account.lost) for account in accounts]
    kept, living = (statistics.fmean(getattr(a, name) for a in accounts) for name in ("kept", "living"))
    short_s, long_s = max(terms.short_rounds, 0.5) * terms.gossip_s, terms.rounds * terms.gossip_s
    expected = two_buffers(1.0, short_s, long_s, terms.members, terms.copies) / long_s
    return {
        "members": options.members,
        "messages": messages,
        "loss": options.loss,
        "omission": options.omission,
        "seed": options.seed,
        "copies": round(terms.copies, 3),
        "rounds": terms.rounds,
        "short_rounds": terms.short_rounds,
        "p_fail": terms.p_fail(),
        "violations": len(violated),
        "violations_explained": most_explained(messages, terms.p_fail()),
        "given_up": sum(len(account.lost) for account in accounts),
        "given_up_by": {account.name: len(account.lost) for account in accounts if account.lost},
        "late_most_s": round(max(account.late_most_s for account in accounts), 2),
        "unaccounted": sum(messages - each for each in got),
        "out_of_order": sum(account.out_of_order for account in accounts),
        "loss_measured": round(statistics.fmean(account.loss for account in accounts), 4),
        "multicasts_omitted": sum(account.omitted for account in accounts),
        "multicasts_again": sum(account.multicasts_again for account in accounts),
        "repairs_asked": sum(account.repairs_asked for account in accounts),
        "repairs_sent": sum(account.repairs_sent for account in accounts),
        "kept_mean": round(kept, 1),
        "living_mean": round(living, 1),
        "waiting_mean": round(statistics.fmean(account.waiting for account in accounts), 1),
        "kept_share": round(kept / living, 4),
        "kept_share_expected": round(expected, 4),
        "copies_by_members": round(terms.copies / terms.members, 4),
        "views": max(account.views for account in accounts),
        "seconds": round(seconds, 1),
    }


def main() -> int:
    """Run, print what was found as JSON, and tell whether it is as it should be."""
    parser = argparse.ArgumentParser(description="All-or-none violations and buffers of bimodal delivery.")
    parser.add_argument("--members", type=int, default=16)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--loss", type=float, default=0.05)
    parser.add_argument("--omission", type=float, default=0.0, help="multicasts that leave for nobody")
    parser.add_argument("--rate", type=float, default=500.0, help="messages a second, of all together")
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--p-fail", type=float, default=Bimodal.p_fail)
    parser.add_argument("--copies", type=float, default=None)
    parser.add_argument("--short-rounds", type=int, default=Bimodal.short_rounds)
    parser.add_argument("--gossip-s", type=float, default=Bimodal.gossip_s)
    parser.add_argument("--original", action="store_true", help="everyone keeps everything for all rounds")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    accounts = run(options)
    found = judge(options, accounts, time.monotonic() - began)
    print(json.dumps(found, indent=1))
    is_fine = found["violations"] <= found["violations_explained"]
    return 0 if is_fine and found["unaccounted"] == found["out_of_order"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
