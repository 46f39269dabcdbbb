"""A member of a group on standard input and output: what runs while ``stablecast node`` does."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from stablecast.cli.node_lines import Lines
from stablecast.cli.output import DONE, FOUND_FAILURE, INTERRUPTED, WRONG_USAGE, complain
from stablecast.cli.standard_streams import Output, read_lines
from stablecast.engine.options import LARGEST_PAYLOAD
from stablecast.engine.results import TraceFailed
from stablecast.errors import GroupClosed, InvalidInput
from stablecast.live.group import Group
from stablecast.live.joining import join
from stablecast.live.receipt import Receipt
from stablecast.trace.log import EventLog

DRAIN_S = 30.0
"""How long the last messages may take to become stable when standard input has ended."""
WRITE_S = 2.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class NodeSession:
    """Joins, multicasts lines, prints, and leaves."""

    def __init__(
        self,
        group: str,
        settings: dict[str, Any],
        *,
        command: str,
        log: EventLog | None,
        stay: bool,
        as_json: bool,
    ) -> None:
        self._group_name = group
        self._settings = settings
        self._command = command
        self._log = log
        self._stay = stay
        self._lines = Lines(as_json=as_json)
        self._code = DONE
        self._has_complained = False

    async def run(self, source: int | None, sink: int) -> int:
        """Be a member until the input ends or a signal comes; return the exit code."""
        loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._receipts: asyncio.Queue[Receipt | None] = asyncio.Queue()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._over.set)
        output = Output(sink, on_broken=self._over.set)
        try:
            group = await self._join()
            if group is None:
                return INTERRUPTED
            async with group:
                await self._work(group, source, output)
            self._complain_of_trace(group)
            await output.put(self._lines.left(group.name, group.me))
        finally:
            await output.close(WRITE_S)
            for number in SIGNALS:
                loop.remove_signal_handler(number)
        return self._code

    async def _join(self) -> Group | None:
        """Join; None if a signal came before that was done."""

        async def joined() -> Group:
            return await join(self._group_name, trace=self._log, **self._settings)

        joining = asyncio.create_task(joined())
        over = asyncio.create_task(self._over.wait())
        await asyncio.wait({joining, over}, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if joining.done():
            return joining.result()
        joining.cancel()
        await asyncio.wait({joining})
        return None

    async def _work(self, group: Group, source: int | None, output: Output) -> None:
        """Run until the end, then leave and print what has come until then."""
        me, address = group.me, group.address
        command = f"{self._command} {address}"
        self._complain_of_trace(group)
        first = self._lines.joined(
            group=group.name, me=me, address=address, members=group.members, command=command
        )
        output.put(first)
        readers = [
            asyncio.create_task(self._print_deliveries(group, output)),
            asyncio.create_task(self._print_events(group, output)),
            asyncio.create_task(self._print_outcomes(output)),
        ]
        sending = asyncio.create_task(self._send_lines(group, source))
        over = asyncio.create_task(self._over.wait())
        try:
            await asyncio.wait({sending, over}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
                await self._drain(over, readers[2])
        except InvalidInput as error:
            complain(str(error))
            self._code = WRONG_USAGE
        finally:
            over.cancel()
            sending.cancel()
            await group.close()
            await asyncio.gather(sending, return_exceptions=True)
            await self._finish(readers)

    async def _send_lines(self, group: Group, source: int | None) -> None:
        async for line in read_lines(source, longest=LARGEST_PAYLOAD):
            self._receipts.put_nowait(await group.send(line))

    async def _drain(self, over: asyncio.Task[Any], outcomes: asyncio.Task[None]) -> None:
        """Stay if that was asked for; otherwise wait until everything sent is stable, for a while."""
        if self._stay:
            await over
            return
        self._receipts.put_nowait(None)
        done, _ = await asyncio.wait({over, outcomes}, timeout=DRAIN_S, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            complain(f"messages are not stable after {DRAIN_S:g} s; leaving")
            self._code = FOUND_FAILURE

    async def _finish(self, readers: list[asyncio.Task[None]]) -> None:
        """Let what the group has handed over be printed, for a while."""
        self._receipts.put_nowait(None)
        _, late = await asyncio.wait(readers, timeout=WRITE_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*readers, return_exceptions=True)

    async def _print_deliveries(self, group: Group, output: Output) -> None:
        async for batch in group.batches():
            await output.put(self._lines.deliveries(batch))

    async def _print_events(self, group: Group, output: Output) -> None:
        async for event in group.events():
            if isinstance(event, TraceFailed):
                self._complain_of_trace(group)
            text = self._lines.event(event)
            if text:
                await output.put(text)

    def _complain_of_trace(self, group: Group) -> None:
        """Tell once, when it happens, that the trace has ended before its time."""
        if group.trace_error and not self._has_complained:
            self._has_complained = True
            complain(f"{group.trace_error}; going on without a trace")
            self._code = self._code or FOUND_FAILURE

    async def _print_outcomes(self, output: Output) -> None:
        """Wait for own messages in turn: they become stable in the order in which they were sent."""
        while (receipt := await self._receipts.get()) is not None:
            try:
                outcome = await receipt.stable()
            except GroupClosed:
                return
            await output.put(self._lines.outcome(outcome))
