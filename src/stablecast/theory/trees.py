"""Sizes and levels of the trees that networks are built as."""

from fractions import Fraction

from stablecast.errors import InvalidInput


def group_size(degree: int, height: int, fill: int) -> int:
    """Return the number of members `n` of the tree (section 5.1, Table 3).

    Parameters
    ----------
    degree : int
        Children `b` of every node above level ``height - 1``; at least 1. A degree of 1 is a chain.
    height : int
        Depth `p` of the leaves; at least 1.
    fill : int
        Children `z` of every node of level ``height - 1``; between 1 and `degree`.

    Returns
    -------
    int
        ``1 + b + ... + b**(p-1) + z * b**(p-1)``.

    Examples
    --------
    >>> group_size(4, 5, 4)
    1365
    """
    check_tree(degree, height, fill)
    return geometric(degree, height) + fill * power(degree, height - 1)


def random_tree_level_probabilities(members: int, degree: int, height: int) -> tuple[Fraction, ...]:
    """Return the probability of each level ``1..height`` in a random tree (section 5.4.2).

    One member is the root; each of the others lands on level ``k < height`` with probability
    ``b**k / (n - 1)`` and on the bottom level with what is left, ``(n - (b**p - 1)/(b - 1)) / (n - 1)``.

    Parameters
    ----------
    members : int
        Group size `n`; at least 2 and at least the size of the tree above the bottom level.
    degree, height : int
        Mean degree `b` and height `p`, each at least 1.

    Returns
    -------
    tuple of Fraction
        `height` probabilities that add up to one.

    Raises
    ------
    InvalidInput
        When the levels above the bottom already hold more than `members`.
    """
    above_bottom = check_random_tree(members, degree, height)
    if members < above_bottom:
        raise InvalidInput(
            f"members must be at least {above_bottom}, the size of a tree of degree {degree} above its"
            f" bottom level {height}, got {members}"
        )
    upper = [Fraction(degree**level, members - 1) for level in range(1, height)]
    return (*upper, Fraction(members - above_bottom, members - 1))


def power(base: int, exponent: int) -> int:
    """Return ``base**exponent`` as an int: a type checker has to allow for negative exponents."""
    return int(base**exponent)


def geometric(base: int, terms: int) -> int:
    """Return ``1 + base + ... + base**(terms-1)``."""
    return terms if base == 1 else (power(base, terms) - 1) // (base - 1)


def check_at_least(name: str, value: int, lowest: int) -> None:
    """Refuse what is not a whole number, or too small."""
    if not isinstance(value, int) or value < lowest:
        raise InvalidInput(f"{name} must be an integer of at least {lowest}, got {value!r}")


def check_tree(degree: int, height: int, fill: int) -> None:
    """Refuse a shape that no near-complete tree has."""
    check_at_least("degree", degree, 1)
    check_at_least("height", height, 1)
    check_at_least("fill", fill, 1)
    if fill > degree:
        raise InvalidInput(f"fill must be between 1 and the degree {degree}, got {fill}")


def check_random_tree(members: int, degree: int, height: int) -> int:
    """Validate and return the size of the tree above its bottom level."""
    check_at_least("members", members, 2)
    check_at_least("degree", degree, 1)
    check_at_least("height", height, 1)
    return geometric(degree, height)
