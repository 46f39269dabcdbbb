"""Ctrl-C while Spark works: what runs is cancelled and cleaned up after before the interruption goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CANCEL_EVERY_S = 0.2

Result = TypeVar("Result")


def interruptible(spark: SparkSession, call: Callable[[], Result]) -> Result:
    """Make a call that has jobs run on Spark; an interruption of the main thread ends them first.

    A thread that waits for an answer of Spark can tell it nothing else, not even to cancel what it waits
    for, so the call is made in another one.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    pool = ThreadPoolExecutor(1)
    try:
        future = pool.submit(call)
        try:
            return future.result()
        except KeyboardInterrupt:
            cancel_until(spark, future)
            raise
    finally:
        pool.shutdown(wait=False)


def cancel_until(spark: SparkSession, future: Future[Result]) -> None:
    """Cancel jobs, also those that are begun meanwhile, until something has ended."""
    while not future.done():
        spark.sparkContext.cancelAllJobs()
        wait([future], CANCEL_EVERY_S)
