"""The network model in plain Python: for what is not compiled, and to compare the compiled one with."""
