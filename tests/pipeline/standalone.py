"""A real Spark standalone cluster on loopback, from the installed pyspark, for tests."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark

from stablecast.pipeline.class_archive import archive_options
from stablecast.pipeline.java import find_java, java_home
from stablecast.pipeline.session import QUICK_JAVA

DEADLINE_S = 120


class StandaloneCluster:
    """One master and some workers of one core each; their words go to files in a folder."""

    def __init__(self, folder, workers=2):
        self.folder = folder
        self.count = workers
        self.processes = []
        self.master = None
        self.workers = []

    def __enter__(self):
        try:
            base = "org.apache.spark.deploy"
            self._start("master", f"{base}.master.Master", "--port", "0", "--webui-port", "0")
            self.master = self._await("master", r"Starting Spark master at (spark://\S+)")
            for number in range(self.count):
                name = f"worker{number}"
                more = ["--cores", "1", "--memory", "1g", "--port", "0", "--webui-port", "0"]
                work = ["--work-dir", str(self.folder / name)]
                self.workers.append(self._start(name, f"{base}.worker.Worker", *more, *work, self.master))
            for number in range(self.count):
                self._await(f"worker{number}", r"Successfully registered with (master \S+)")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        for process in self.processes:
            self.kill(process)

    def kill(self, process):
        """End a process and its executor at once, as a crash of the machine would."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _start(self, name, main, *arguments):
        environment = os.environ | {
            "JAVA_HOME": str(java_home(find_java())),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_JAVA_OPTS": f"{self._logging()} {QUICK_JAVA} {archive_options()}",
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), main, "--host", "127.0.0.1"]
        with (self.folder / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                [*command, *arguments], env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)
        return process

    def _logging(self):
        """Let Java say what is awaited; a folder of settings would make it refuse the archive of classes."""
        settings = self.folder / "log4j2.properties"
        settings.write_text(
            "rootLogger.level = info\nrootLogger.appenderRef.console.ref = console\n"
            "appender.console.type = Console\nappender.console.name = console\n"
            "appender.console.layout.type = PatternLayout\nappender.console.layout.pattern = %m%n%ex\n"
        )
        return f"-Dlog4j2.configurationFile={settings.as_uri()}"

    def _await(self, name, pattern):
        """Wait until a process has said something."""
        end = time.monotonic() + DEADLINE_S
        log = self.folder / f"{name}.log"
        while time.monotonic() < end:
            found = re.search(pattern, log.read_text())
            if found:
                return found[1]
            time.sleep(0.05)
        raise AssertionError(f"{name} did not say '{pattern}':\n{log.read_text()}")
