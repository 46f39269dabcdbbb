"""``stablecast advise``: a protocol with its parameters for a group, and what it will do."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from stablecast.cli.declared import declared_command, declared_option, declared_parameter
from stablecast.cli.extras import SPARK, require
from stablecast.cli.output import DONE, PLAIN_LINE_SECONDS
from stablecast.cli.spark_options import Conf, Master

if TYPE_CHECKING:
    from stablecast.advisor import Advice, Forecast

TEXT = """Advise a protocol with its parameters for a group, and say what it will do.

Example: stablecast advise --members 8 --rate-per-s 200 --bytes 1000 --loss 0.01 --rtt-ms 20 --goal p99-ms=200

Candidates are simulated: the very engine of live members, on the network that the options tell of. Results
are kept, so a second question about the same group is quick.
"""
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", help="Processes that simulate. Default: one for each core.", min=1, show_default=False
    ),
]


class AdviseCommand(TyperCommand):
    """Becomes the command with its declared options when it is called."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """Parse the arguments."""
        made = self.with_options()
        made.context_settings = self.context_settings
        return made.make_context(info_name, args, *rest, **more)

    def with_options(self) -> Any:
        """Return the command with its declared options."""
        return _made()


def advise_command() -> int:
    """Advise a protocol with its parameters for a group, and say what it will do."""
    return run({})


def _made() -> Any:
    from stablecast.advisor.question import Question
    from stablecast.simulate.knobs import options_of

    def command(**given: Any) -> int:
        return run(given)

    parameters = [declared_option(option) for option in options_of(Question).values()]
    parameters += [declared_parameter("jobs", Jobs, None)]
    parameters += [declared_parameter("master", Master, None), declared_parameter("conf", Conf, None)]
    return declared_command("advise", command, TEXT, parameters)


def run(given: dict[str, Any]) -> int:
    """Answer the question that was given, and print the answer."""
    from stablecast.advisor.advise import advise
    from stablecast.advisor.crew import Processes
    from stablecast.advisor.question import Question
    from stablecast.simulate.knobs import knobs_of

    as_json = given.pop("as_json", False)
    jobs, master, conf = (given.pop(name, None) for name in ("jobs", "master", "conf"))
    fields = {name: field for name, (field, _) in knobs_of(Question).items()}
    told = {fields[name]: value for name, value in given.items() if value is not None}
    question = Question(**told)
    progress = AdviceProgress(shown=not as_json)
    try:
        with _interrupted_by_kill():
            if master is None and not conf:
                with Processes(jobs) as crew:
                    found = advise(question, crew=crew, say=progress)
            else:
                found = _on_spark(question, master, conf or [], progress)
    finally:
        progress.end()
    if as_json:
        print(json.dumps(found.to_dict()))
    else:
        show(found)
    return DONE


@contextmanager
def _interrupted_by_kill() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C, so that processes are ended in order and what they shared is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _on_spark(question: Any, master: str | None, conf: list[str], progress: AdviceProgress) -> Advice:
    require(*SPARK)
    from stablecast.advisor.advise import advise
    from stablecast.pipeline.advising import SparkCrew
    from stablecast.pipeline.session import check_master, parse_conf

    if master is not None:
        check_master(master)
    with SparkCrew(master=master, conf=parse_conf(conf)) as crew:
        return advise(question, crew=crew, say=progress)


class AdviceProgress:
    """Shows how far the runs are: a live line on a terminal, a plain line now and then otherwise."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._live = shown and sys.stderr.isatty()
        self._last = time.monotonic()
        self._drawn = False

    def __call__(self, what: str, done: int, of: int) -> None:
        """Take note of how far it is."""
        now = time.monotonic()
        if not self._shown or not of or now - self._last < (0.2 if self._live else PLAIN_LINE_SECONDS):
            return
        self._last = now
        text = f"# {what}: {done:,} of {of:,} runs"
        if self._live:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
            self._drawn = True
        else:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Put the line away."""
        if self._drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def show(advice: Advice) -> None:
    """Print the answer as people read it."""
    from stablecast.advisor.advice import MEASURES, PACE

    print(f"{advice.best.candidate.label}, for goal {advice.question.wanted}")
    width = max(map(len, MEASURES.values()))
    for name, words in MEASURES.items():
        found = advice.best.measures[name]
        print(f"  {words:<{width}}  {_number(found.mid)}  ({_number(found.low)} to {_number(found.high)})")
    print(f"  {_basis(advice)}")
    print(f"binds: {advice.binds}")
    print(f"steps: {_steps(advice)}")
    print(f"trigger: {_trigger(advice)}")
    if advice.runners_up:
        print("beside it:")
        label_width = max(len(each.candidate.label) for each in advice.runners_up)
        for each in advice.runners_up:
            print(f"  {each.candidate.label:<{label_width}}  {_beside(each, advice.best)}")
    print("join it:")
    if "PaceOptions" in advice.join:
        print(f"  {PACE}")
    print(f"  {advice.join}")
    print("see a run of it:")
    print(f"  {advice.simulate}")


def _basis(advice: Advice) -> str:
    made = f"{advice.made:,} of {advice.runs:,} runs made now, in {advice.wall_s:.1f} s"
    if advice.promised:
        return f"95 of 100 further runs are in these intervals, from {advice.best.runs} fresh seeds; {made}"
    return (
        f"NOT a promise: {advice.simulated_members} members were simulated, and the times carried on to"
        f" {advice.question.members:,}; {made}"
    )


def _steps(advice: Advice) -> str:
    low, high = advice.window_ms
    if advice.best.candidate.steps == 1 and low == high:
        return f"{low:.3g} ms, the one by the group's size"
    return f"{low:.3g} to {high:.3g} ms do nearly as well, of those that were tried"


def _trigger(advice: Advice) -> str:
    told = advice.trigger
    if told.optimum is None:
        return f"no number of messages is safe: a share of the buffers holds {told.room:,}"
    words = f"a round every {told.optimum:,} messages of a sender would be safe, of {told.room:,} it may keep"
    return words if told.is_advised else f"{words}; steps come first"


def _beside(forecast: Forecast, best: Forecast) -> str:
    factors = forecast.beside(best)
    return (
        f"p50 ×{factors['p50_ms']:.2f}, p99 ×{factors['p99_ms']:.2f}, bytes ×{factors['bytes_per_s']:.2f},"
        f" buffer ×{factors['buffer_bytes']:.2f}"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
