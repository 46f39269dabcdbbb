"""A reference simulator in SimPy, written apart from stablecast's own engine.

It is the baseline of the speed comparison and an independent check of completion times, so it
shares no code with the package. `model` is the network, `scenarios` the protocols that run on it;
`python -m benchmarks.simpy_reference` prints results for small groups.
"""
