"""One page that shows a run: a space-time diagram to zoom into, with the critical paths of its messages."""
