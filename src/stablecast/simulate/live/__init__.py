"""Live groups in the simulator: the very engine of a process, on the simulated network."""
