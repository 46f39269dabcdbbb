"""Datagrams that nobody with the key has sent, by the million: none may open, raise, or change anything.

    python -m benchmarks.fuzz_datagrams --count 1000000 --seed 7

A target is any function that takes a datagram and returns None if it did nothing with it.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from stablecast.engine import wire
from stablecast.engine.keys import Key, Keyring
from stablecast.engine.seal import Seal
from stablecast.membership.messages import Admission, Alive, Delta, Join, Redirect, Sync, Way
from stablecast.membership.view import Labels, MemberInfo, View
from stablecast.multicast.frames import Data, Fragment, Nak

GROUP = "orders"
OURS, PEERS = 1, (2, 3, 4)
ANOTHER = 5
MEMBERS = tuple(MemberInfo(session, f"m{session}", 1, "127.0.0.1", 7000 + session) for session in PEERS)
FRAMES: list[wire.AnyFrame] = [
    Data(9, 1, 5, 5, [b"one", b"two" * 40], [1, 2]),
    Fragment(9, 0, 7, 6, 0, 3, bytes(200)),
    Nak(9, 1, [(1, 4), (9, 9)]),
    wire.Stability(9, 0, [4], [0, 1], [1, 2, 3]),
    wire.Hello(2**63),
    wire.Welcome(2**64 - 1, 5),
    Join(MEMBERS[0], "gsgc"),
    Redirect("192.0.2.1", 7001),
    Sync(
        (3, 2),
        8,
        Way("h", 1, 6),
        Delta(9, 3, b"", MEMBERS, GROUP, Labels.PLAIN, False, (), 5),
        ((0, 1, 0, 1),),
    ),
    Admission((3, 2), ("h", 1), View(9, 3, MEMBERS, GROUP, {"m2": 1}), ((0, 1, 1), (1, 2, 2), (2, 3, 3))),
    Alive(9, 3, ((0, 4, 4), (2, 6, 4)), True, news=((1, 2, 7),)),
]


@dataclass(frozen=True)
class Corpus:
    """What strangers may have got hold of."""

    seen: list[bytes]
    """Good ones that the target has taken before."""
    unseen: list[bytes]
    """Good ones that it has not got; they are only sent changed."""
    foreign: list[bytes]
    """Well made, with other keys, for other groups, or the target's own."""


@dataclass(frozen=True)
class Subject:
    """What is attacked."""

    target: Callable[[bytes], object]
    state: Callable[[], object]
    """All that must not change."""
    corpus: Corpus


class Broken(AssertionError):
    """A forged datagram did something."""


def sealed_subject(seed: int) -> Subject:
    """Return a seal with wire's unpacking behind it, that has three peers, and recordings of them."""
    draw = random.Random(seed)
    keyring = Keyring((Key(1, draw.randbytes(32)), Key(0, draw.randbytes(32))))
    older = Keyring(keyring.keys[::-1])
    seal = Seal(GROUP, OURS, keyring=keyring)

    def target(datagram: bytes) -> object:
        opened = seal.open(datagram)
        return None if opened is None else wire.unpack(opened.inside)

    peers = [
        Seal(GROUP, session, keyring=ring)
        for session, ring in zip(PEERS, (keyring, keyring, older), strict=True)
    ]
    return Subject(target, seal.remembered, record(target, peers, [seal, *strangers(draw)], draw))


def strangers(draw: random.Random) -> list[Seal]:
    """Return who seals well but is not in the group: other secrets, other groups, or no key."""
    wrong = Keyring((Key(1, draw.randbytes(32)),))
    unknown = Keyring((Key(77, draw.randbytes(32)),))
    rings = (wrong, unknown, None)
    return [
        Seal(group, session, keyring=ring)
        for ring in rings
        for group in (GROUP, "bills")
        for session in (2, ANOTHER)
    ]


def record(
    target: Callable[[bytes], object], peers: list[Seal], others: list[Seal], draw: random.Random
) -> Corpus:
    """Send good datagrams from peers to a target, in turn with ones that are held back."""
    seen, unseen = [], []
    for number in range(200):
        datagram = peers[number % len(peers)].close(some_inside(draw))
        if draw.random() < 0.3:
            unseen.append(datagram)
            continue
        if target(datagram) is None:
            raise Broken(f"a good datagram was refused: {datagram.hex()}")
        seen.append(datagram)
    return Corpus(seen, unseen, [other.close(some_inside(draw)) for other in others for _ in range(5)])


def some_inside(draw: random.Random) -> bytes:
    """Return a few frames, packed."""
    return wire.pack(draw.sample(FRAMES, draw.randint(1, 3)), draw.choice((wire.EVERYONE, OURS)))


def mutated(draw: random.Random, corpus: Corpus) -> bytes:
    return flip(draw, draw.choice(draw.choice((corpus.seen, corpus.unseen))))


def truncated(draw: random.Random, corpus: Corpus) -> bytes:
    datagram = draw.choice(draw.choice((corpus.seen, corpus.unseen)))
    return datagram[: draw.randrange(len(datagram))]


def extended(draw: random.Random, corpus: Corpus) -> bytes:
    return draw.choice(corpus.unseen) + draw.randbytes(draw.randint(1, 40))


def replayed(draw: random.Random, corpus: Corpus) -> bytes:
    return draw.choice(corpus.seen)


def recounted(draw: random.Random, corpus: Corpus) -> bytes:
    """Return a recording with another counter, mostly one that is next or was not seen."""
    datagram = draw.choice(corpus.seen)
    counter = (int.from_bytes(datagram[10:18], "big") + draw.choice((1, 3, 100, 2**40))) % 2**64
    return datagram[:10] + counter.to_bytes(8, "big") + datagram[18:]


def rekeyed(draw: random.Random, corpus: Corpus) -> bytes:
    datagram = draw.choice(corpus.unseen)
    number = draw.choice([number for number in (0, 1, 2, 255) if number != datagram[1]])
    return datagram[:1] + bytes([number]) + datagram[2:]


def spliced(draw: random.Random, corpus: Corpus) -> bytes:
    """Return one datagram's header before another's inside."""
    first, second = draw.sample(corpus.unseen, 2)
    return first[:18] + second[18:]


def forged(draw: random.Random, corpus: Corpus) -> bytes:
    session = draw.choice((*PEERS, draw.randrange(1, 2**64)))
    counter = draw.choice((draw.randrange(1000), draw.randrange(2**64)))
    header = bytes([1, draw.choice((0, 1))]) + session.to_bytes(8, "big") + counter.to_bytes(8, "big")
    return header + draw.randbytes(draw.randrange(16, 200))


def foreign(draw: random.Random, corpus: Corpus) -> bytes:
    return draw.choice(corpus.foreign)


def noise(draw: random.Random, corpus: Corpus) -> bytes:
    return draw.randbytes(draw.randrange(200))


KINDS = (mutated, truncated, extended, replayed, recounted, rekeyed, spliced, forged, foreign, noise)


def flip(draw: random.Random, original: bytes) -> bytes:
    """Change one to eight bits, each once."""
    changed = bytearray(original)
    for bit in draw.sample(range(8 * len(original)), draw.randint(1, 8)):
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def attack(subject: Subject, *, count: int, seed: int, look_every: int = 10_000) -> Counter[str]:
    """Send forged datagrams; return how many of each kind, or raise ``Broken`` with what to repeat."""
    draw = random.Random(seed)
    before = subject.state()
    counts: Counter[str] = Counter()
    for number in range(1, count + 1):
        kind = draw.choice(KINDS)
        datagram = kind(draw, subject.corpus)
        counts[kind.__name__] += 1
        try:
            outcome = subject.target(datagram)
        except Exception as error:
            raise Broken(
                f"seed {seed}, datagram {number}, {kind.__name__} raised: {datagram.hex()}"
            ) from error
        if outcome is not None:
            raise Broken(f"seed {seed}, datagram {number}, {kind.__name__} was taken: {datagram.hex()}")
        if (number % look_every == 0 or number == count) and subject.state() != before:
            raise Broken(
                f"seed {seed}: the state has changed at datagram {number} or up to {look_every} before"
            )
    return counts


def unpack_anything(*, count: int, seed: int) -> Counter[str]:
    """Unpack changed and random insides; return how many were taken, or raised which exception."""
    draw = random.Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(count):
        inside = draw.randbytes(draw.randrange(80)) if draw.random() < 0.2 else flip(draw, some_inside(draw))
        try:
            wire.unpack(inside)
            counts["taken"] += 1
        except msgspec.DecodeError:
            counts["refused"] += 1
        except Exception as error:
            counts[type(error).__name__] += 1
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description="forge datagrams, and say what came of them")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    started = time.perf_counter()
    subject = sealed_subject(options.seed)
    kinds = attack(subject, count=options.count, seed=options.seed)
    middle = time.perf_counter()
    insides = unpack_anything(count=options.count // 10, seed=options.seed)
    print(f"{options.count} datagrams, none taken, in {middle - started:.1f} s (seed {options.seed})")
    print(", ".join(f"{name} {number}" for name, number in sorted(kinds.items())))
    print(f"{insides.total()} insides in {time.perf_counter() - middle:.1f} s: {dict(insides)}")
    middle = time.perf_counter()
    from benchmarks.fuzz_engine import engine_subject, nonsense_of_members

    attack(engine_subject(options.seed), count=options.count, seed=options.seed)
    seconds = time.perf_counter() - middle
    print(f"{options.count} at a running member, no change and no answer, in {seconds:.1f} s")
    middle = time.perf_counter()
    nonsense_of_members(count=options.count // 10, seed=options.seed)
    print(f"{options.count // 10} of a member that sends nonsense in {time.perf_counter() - middle:.1f} s")
    return 0 if insides.keys() <= {"taken", "refused"} else 1


if __name__ == "__main__":
    raise SystemExit(main())
