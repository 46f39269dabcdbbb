"""Snapshots kept as files of positions, from which ``analyze``, ``watch`` and ``audit`` tell the history.

``history`` says which rows a snapshot adds to those before it, ``journal`` keeps them so that a kill at any
moment leaves whole files, ``tables`` writes Parquet, ``run`` takes snapshots every so often.
"""
