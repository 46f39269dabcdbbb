"""Delivery traces on Spark: what is stable, what is held back and by whom, in batch and as a stream."""
