"""A trace folded part by part, while it is written.

``fold`` takes one more part; ``state`` is what it leaves to the next one, as tables, and ``carried`` what
these say, as arrays.  ``leaving`` says which messages leave the state and what comes too late for that;
``settled`` keeps what members held by messages that have left.
"""
