"""Heads and positions: rows that each stand for everything of a source up to a number.

``tables`` makes the tables, of which ``schemas`` tells the columns.  On the way, ``readers`` says who had to
receive what is sent, ``rows`` brings the rows of each source together, ``follow`` goes through them in the
order of time, and ``sums`` adds up what came out over the sources of a group.
"""
