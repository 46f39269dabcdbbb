"""A model of gossip on a tree, written apart from stablecast: a heap of events in plain Python.

It checks times per round of `gsgc` and shares no code with the package, not even random numbers, so that
means over seeds are what can agree. `model` is the network and one round of gossip in it,
`python -m benchmarks.gossip_reference` compares both.
"""
