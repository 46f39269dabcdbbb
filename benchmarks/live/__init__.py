"""Live groups on loopback: how much they deliver, and how soon it is stable."""
