"""What the package needs of the compiler, and the only place that is to import numba."""
