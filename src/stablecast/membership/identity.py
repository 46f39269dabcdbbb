"""What a group runs, as its members compare it: a protocol's name, its options, and a digest of its source.

It travels as one text, ``gsgc/subgroup=4/0f1e2d3c4b5a6978``, and members of a group have the same.
"""

from __future__ import annotations

from typing import NamedTuple

PARTS = 2
"""Parts of the text after the name."""


class Identity(NamedTuple):
    """A protocol, as members of different processes can compare it."""

    name: str
    options: str = ""
    """Those that are not at their defaults: ``subgroup=4,tree_degree=log``."""
    source: str = ""
    """A digest of what it declares and, outside this package, of the files that hold its kernels."""

    @classmethod
    def of(cls, text: str) -> Identity:
        """Read an identity; a text that has not all parts has but a name."""
        parts = text.rsplit("/", PARTS)
        return cls(*parts) if len(parts) == PARTS + 1 else cls(text)

    def __str__(self) -> str:
        return "/".join(self)


def difference(ours: str, theirs: str) -> str:
    """Say in what a process differs that wants to join a group, which runs ``ours``."""
    group, other = Identity.of(ours), Identity.of(theirs)
    if group.name != other.name:
        return f"this group runs protocol '{group.name}', not '{other.name}'"
    if group.options != other.options:
        options, others = (each.options or "its default options" for each in (group, other))
        return f"this group runs protocol '{group.name}' with {options}, not with {others}"
    return f"this group runs another version of protocol '{group.name}': the sources differ"
