"""A live group on this machine, made of real processes, some of which are killed; then the verdict."""
