"""Values that show themselves in notebooks: cards of HTML, and pictures that packages above can draw."""

from stablecast.showing.card import Card, Table
from stablecast.showing.pictures import plot

__all__ = ["Card", "Table", "plot"]
