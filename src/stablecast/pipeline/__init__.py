"""From many simulations to tables and verdicts."""
