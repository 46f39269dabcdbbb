"""Deleting what nobody needs: a plan that says why it is safe, and its execution where a system allows it."""
