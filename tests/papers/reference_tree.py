"""The hierarchical paper's tree and protocols spelled out message by message, as a witness for the formulas.

Nothing here uses the formulas under test: distances come from walking the tree, rounds from what each
message has to wait for.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    kind: str
    source: int
    receivers: tuple[int, ...]
    hops: int
    round: int
    chain_hops: int = 0


class Tree:
    """A tree of given degree, height and fill; nodes are numbered level by level from the left."""

    def __init__(self, degree: int, height: int, fill: int) -> None:
        self.parent: list[int | None] = [None]
        self.children: list[list[int]] = [[]]
        self.levels = [[0]]
        for depth in range(1, height + 1):
            width = fill if depth == height else degree
            self.levels.append([self._add(above) for above in self.levels[-1] for _ in range(width)])
        self.size = len(self.parent)

    def _add(self, above: int) -> int:
        node = len(self.parent)
        self.parent.append(above)
        self.children.append([])
        self.children[above].append(node)
        return node

    def distance(self, one: int, other: int) -> int:
        """The hops between two nodes: parents have lower numbers, so the higher climbs until they meet."""
        hops = 0
        while one != other:
            above = self.parent[max(one, other)]
            assert above is not None
            one, other = min(one, other), above
            hops += 1
        return hops

    def subgroups(self) -> list[list[int]]:
        return [group for group in self.children if group]

    def tour(self) -> list[int]:
        """The members in the order of Train: odd depths left to right, even depths right to left."""
        return [
            node for depth, level in enumerate(self.levels) for node in (level if depth % 2 else level[::-1])
        ]

    def role(self, node: int) -> str:
        if node == 0:
            return "root"
        return "internal" if self.children[node] else "leaf"


def one_execution(protocol: str, tree: Tree) -> list[Message]:
    return {
        "coordp": _coordp,
        "fulldist": _fulldist,
        "train": _train,
        "s_coordp": _s_coordp,
        "s_train": _s_train,
    }[protocol](tree)


def _multicast(tree: Tree, kind: str, source: int, round_: int) -> Message:
    return Message(kind, source, tuple(range(tree.size)), tree.size - 1, round_)


def _unicast(tree: Tree, kind: str, source: int, target: int, round_: int, chain_hops: int = 0) -> Message:
    distance = tree.distance(source, target)
    return Message(kind, source, (target,), distance, round_, chain_hops + distance)


def _coordp(tree: Tree) -> list[Message]:
    acks = [_unicast(tree, "ACK", node, 0, 2) for node in range(1, tree.size)]
    return [_multicast(tree, "START", 0, 1), *acks, _multicast(tree, "INFO", 0, 3)]


def _fulldist(tree: Tree) -> list[Message]:
    return [_multicast(tree, "INFO", node, 1 if node == 0 else 2) for node in range(tree.size)]


def _train(tree: Tree) -> list[Message]:
    ring = tree.tour()
    legs = list(zip(ring, ring[1:] + ring[:1], strict=True))
    acks = [_unicast(tree, "ACK", a, b, 1 + i) for i, (a, b) in enumerate(legs)]
    infos = [_unicast(tree, "INFO", a, b, 1 + tree.size + i) for i, (a, b) in enumerate(legs)]
    return acks + infos


def _s_coordp(tree: Tree) -> list[Message]:
    messages = [_multicast(tree, "START", 0, 1)]
    ready = [1] * tree.size
    for node in range(tree.size - 1, 0, -1):
        above = tree.parent[node]
        assert above is not None
        messages.append(_unicast(tree, "ACK", node, above, ready[node] + 1))
        ready[above] = max(ready[above], ready[node] + 1)
    return [*messages, _multicast(tree, "INFO", 0, ready[0] + 1)]


def _s_train(tree: Tree) -> list[Message]:
    messages = [_multicast(tree, "START", 0, 1)]
    ready, travelled = [1] * tree.size, [0] * tree.size
    for group in sorted(tree.subgroups(), reverse=True):
        above = tree.parent[group[0]]
        assert above is not None
        for node, target in zip(group, [*group[1:], above], strict=True):
            kind = "ACK2" if target == above else "ACK1"
            ack = _unicast(tree, kind, node, target, ready[node] + 1, travelled[node])
            messages.append(ack)
            ready[target] = max(ready[target], ack.round)
            travelled[target] = max(travelled[target], ack.chain_hops)
    return [*messages, _multicast(tree, "INFO", 0, ready[0] + 1)]
