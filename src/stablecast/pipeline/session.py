"""The one builder of Spark sessions.

Defaults suit many short tasks of Python: worker processes that are forked with the compiled simulator in
them and kept, Unix domain sockets to them, no web pages, no words of Spark's own unless something is wrong.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablecast.errors import InvalidInput, StablecastError
from stablecast.pipeline.class_archive import archive_options
from stablecast.pipeline.java import find_java, java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*,4]"
"""Every core of this machine; a task that fails is tried three times more."""
MASTERS = "local, local[N], local[*], local[N,F], spark://HOST:PORT, yarn or k8s://URL"
_MASTER = re.compile(
    r"local(\[(\d+|\*)(,\s*\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|spark://[^/\s]+:\d+(,[^/\s]+:\d+)*|yarn|k8s://\S+"
)
SPARK_VERSIONS = ((4, 0), (5, 0))
PYTHON_MIN = (3, 11)
CONNECT_SECONDS = 5.0
PROTOCOLS_VARIABLE = "STABLECAST_PROTOCOLS"
"""Environment variable that tells worker daemons which protocols to load before they fork."""
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
# A start in 4 s instead of 6; the driver of a sweep hardly computes, so half the speed does not show.
# Java keeps little room for compiled code then, and stops compiling when it is full.
# Half of the heap for what is new, and enough of it from the start: a quarter as many collections.
QUICK_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    " -XX:+UseSerialGC -XX:NewRatio=1 -XX:InitialRAMPercentage=6"
)

DATA_MEMORY = "4g"


class SparkFailure(StablecastError):
    """Spark did not start, or stopped before the work was done."""


def check_versions() -> None:
    """Refuse a Python or a Spark that this was not made for."""
    if sys.version_info < PYTHON_MIN:
        raise InvalidInput(f"Python {sys.version.split()[0]} is too old (accepted: 3.11 or newer)")
    try:
        version = metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        raise InvalidInput("pyspark is not installed (pip install 'stablecast[pipeline]')") from None
    low, high = SPARK_VERSIONS
    if not low <= tuple(map(int, re.findall(r"\d+", version)[:2])) < high:
        raise InvalidInput(f"pyspark {version} is not accepted (accepted: 4.0 or newer, below 5)")


def check_master(master: str) -> None:
    """Refuse what no Spark understands, and a standalone master that nobody answers for."""
    if not _MASTER.fullmatch(master):
        raise InvalidInput(f"master '{master}' is not accepted (accepted: {MASTERS})")
    if not master.startswith("spark://"):
        return
    addresses = master.removeprefix("spark://").split(",")
    refusals = [why for why in map(_unreachable, addresses) if why]
    if len(refusals) == len(addresses):
        raise InvalidInput(f"master '{master}' cannot be reached: {'; '.join(refusals)}")


def _unreachable(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        return f"{address}: {getattr(error, 'strerror', None) or error}"
    return None


def java_options(further: str) -> str:
    """Return the options that every Java of ours has on this machine, and further ones."""
    return f"{plain_java_options(further)} {archive_options()}"


def plain_java_options(further: str) -> str:
    """Return the same for a Java on any machine."""
    return f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()} {further}"


def data_conf(conf: Mapping[str, str]) -> dict[str, str]:
    """Return settings for much data instead of many short tasks of Python; those given win."""
    return {"spark.driver.memory": DATA_MEMORY} | dict(conf)


def parse_conf(pairs: Iterable[str]) -> dict[str, str]:
    """Turn ``key=value`` words into Spark settings."""
    conf = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise InvalidInput(f"--conf '{pair}' is not accepted (accepted: key=value)")
        conf[key.strip()] = value
    return conf


def _defaults(master: str, protocols: Iterable[str]) -> dict[str, str]:
    settings = {
        "spark.app.name": "stablecast",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": java_options(QUICK_JAVA),
        "spark.python.daemon.module": "stablecast.pipeline.daemon",
        "spark.python.worker.reuse": "true",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
        f"spark.executorEnv.{PROTOCOLS_VARIABLE}": ",".join(protocols),
        "spark.sql.session.timeZone": "UTC",
        # Where in Python a column was made is noted for messages that nobody is shown; a tenth of the time
        # of a small query.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.dataFrameQueryContext.enabled": "false",
    }
    if is_local(master):
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
    return settings


def is_local(master: str) -> bool:
    """Tell whether everything runs on this machine."""
    return master.startswith("local") or bool(re.match(r"spark://(127\.|localhost[:,])", master))


def _prepare_environment(master: str, protocols: Iterable[str]) -> None:
    os.environ["JAVA_HOME"] = str(java_home(find_java()))
    os.environ["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ[PROTOCOLS_VARIABLE] = ",".join(protocols)
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def build_session(
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    protocols: Iterable[str] = (),
) -> SparkSession:
    """Return a Spark session, started if there is none.

    Parameters
    ----------
    master
        Where Spark runs; every core of this machine by default.
    conf
        Further settings, which win over ours.
    protocols
        Protocols whose loops the worker daemons load, and compile where need be, before they fork.
    """
    check_versions()
    where = master or DEFAULT_MASTER
    check_master(where)
    names = tuple(protocols)
    _prepare_environment(where, names)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(where)
    for key, value in (_defaults(where, names) | dict(conf or {})).items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except (PySparkException, OSError) as error:
        raise SparkFailure(f"Spark did not start on '{where}': {first_line(error)}") from error
    except Exception as error:
        # py4j's errors have no root of their own that pyspark exports.
        if type(error).__module__.startswith("py4j"):
            raise SparkFailure(f"Spark did not start on '{where}': {first_line(error)}") from error
        raise
    _remember_classes(session)
    return session


class _Remembered:
    """A class of Java's whose methods are looked up there once each, and not for every call."""

    def __init__(self, java_class: Any) -> None:
        self._java_class = java_class

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._java_class, name)
        setattr(self, name, found)
        return found


def _remember_classes(session: SparkSession) -> None:
    """Look up once what PySpark looks up for every column.

    By their short names, Java searches for them in each of twenty packages of three hundred archives.
    """
    jvm = session.sparkContext._jvm
    for name in ("org.apache.spark.sql.functions", "org.apache.spark.api.python.PythonUtils"):
        found = getattr(jvm, name)
        if isinstance(found, _Remembered):
            continue
        for known_as in (name, name.rpartition(".")[2]):
            setattr(jvm, known_as, _Remembered(found))


@contextmanager
def spark_session(
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    protocols: Iterable[str] = (),
) -> Iterator[SparkSession]:
    """Give a session, and stop it at the end unless it was there before."""
    check_versions()
    from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession() is not None
    session = build_session(master=master, conf=conf, protocols=protocols)
    try:
        yield session
    finally:
        if not found:
            session.stop()


def first_line(error: BaseException) -> str:
    """Return the line of a Java or Python error that says what happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if re.match(r"(: )?(Caused by: )?[\w.]+(Exception|Error)\b", line)]
    return (causes[-1:] or lines[:1] or [type(error).__name__])[0].lstrip(": ")
