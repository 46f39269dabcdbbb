"""Live groups: the protocols of the papers between real processes, over UDP."""
