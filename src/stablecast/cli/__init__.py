"""The ``stablecast`` command: thin commands over the library."""
