"""How right the advisor is: regret, coverage, real groups."""
