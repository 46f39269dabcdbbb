"""Pictures of values in notebooks: runs, tables of runs, and traces in space and time."""
