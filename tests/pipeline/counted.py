"""A task for tests that notes down each time it is run."""

import os
import time

from stablecast.pipeline.tasks import Outcome


def note(file, number, seconds):
    """Append one line in one write, so that lines of several processes do not mix."""
    time.sleep(seconds)
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{number}\n".encode())
    os.close(handle)
    return Outcome(extra={"number": number})
