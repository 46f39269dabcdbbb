"""A ``stablecast node`` in a process of its own, whose lines can be waited for."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading

PATIENCE_S = 60


class NodeProcess:
    """Starts a node that prints JSON; a context manager that leaves no process behind."""

    def __init__(self, *arguments, stdin=subprocess.PIPE, env=None):
        command = [sys.executable, "-m", "stablecast.cli.main", "node", "--json", *arguments]
        pipe = subprocess.PIPE
        environment = {**os.environ, **(env or {})}
        self.process = subprocess.Popen(
            command, stdin=stdin, stdout=pipe, stderr=pipe, text=True, bufsize=1, env=environment
        )
        self.seen = []
        self._lines = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def expect(self, event, **fields):
        """Return the next line of this kind with these fields."""
        while True:
            try:
                line = self._lines.get(timeout=PATIENCE_S)
            except queue.Empty:
                raise AssertionError(f"no {event} {fields} among {self.seen}") from None
            if line is None:
                errors = self.process.stderr.read()
                raise AssertionError(f"ended without {event} {fields}: {self.seen} {errors}")
            self.seen.append(line)
            if line["event"] == event and fields.items() <= line.items():
                return line

    def type(self, line):
        """Type a line."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end_input(self):
        """End standard input."""
        self.process.stdin.close()

    def signal(self, number=signal.SIGTERM):
        """Send a signal."""
        self.process.send_signal(number)

    def exit_code(self):
        """Wait for the end."""
        return self.process.wait(PATIENCE_S)
