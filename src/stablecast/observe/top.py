"""``stablecast top`` on a terminal: a screen that follows one place.

The screen decides nothing: what it shows is text of ``shown``, and what it follows comes from ``follow``.
Texts are handed over as values without markup, so that a name cannot change the screen.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, RichLog, Sparkline, Static

from stablecast.engine.observed import BEHIND, FAILED, LEFT, OK, SILENT, SUSPECTED, UNHEARD, Note, Observed
from stablecast.observe import shown
from stablecast.observe.follow import Follower, Happened, Looked, Lost
from stablecast.observe.shown import COLUMNS, SORTS

STYLES = {
    OK: "green",
    SILENT: "bold yellow",
    SUSPECTED: "bold red",
    FAILED: "bold red",
    BEHIND: "bold yellow",
    UNHEARD: "yellow",
    LEFT: "dim",
}
MOST_ROWS = 400
"""Members that have a row; in a larger group these are the first in the chosen order."""
MOST_HOLDING = 6
TIMES_SHOWN = 120


class Top(App[str]):
    """The screen; returns why it ended, nothing if it was asked to."""

    TITLE = "stablecast top"
    CSS = """
    Screen { layout: vertical; }
    #title { text-style: bold; height: 1; padding: 0 1; }
    #summary { height: auto; padding: 0 1; color: $text-muted; }
    #trouble { height: auto; padding: 0 1; display: none; background: $error; color: $text; }
    #members { height: 2fr; min-height: 6; }
    #below { height: 1fr; min-height: 7; }
    .pane { width: 1fr; border-top: solid $primary; padding: 0 1; }
    .pane > .head { text-style: bold; color: $text-muted; height: 1; }
    #holding { height: auto; }
    #times { height: 2; margin-top: 1; }
    #events { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("s", "sort", "Sort"),
        Binding("r", "reverse", "Reverse"),
        Binding("i", "look_into", "Look into (Enter)"),
        Binding("p", "pause", "Pause"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, follower: Follower, *, sort: str = "state") -> None:
        super().__init__()
        self.follower = follower
        self.sort = sort
        self.is_reversed = False
        self.is_paused = False
        self._cells: dict[str, tuple[str, ...]] = {}
        """What the rows show, in their order."""

        self._says = {
            name: Static(id=name) for name in ("title", "summary", "trouble", "holding", "times_text")
        }
        self._table: DataTable[Text] = DataTable(id="members", cursor_type="row", zebra_stripes=True)
        self._times = Sparkline([], id="times", summary_function=max)
        self._events = RichLog(id="events", wrap=True, max_lines=1_000, min_width=20)

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        says = self._says
        yield from (says["title"], says["summary"], says["trouble"], self._table)
        with Horizontal(id="below"):
            with Vertical(classes="pane"):
                yield Static("HOLDING BACK", classes="head")
                yield from (says["holding"], says["times_text"], self._times)
            with Vertical(classes="pane"):
                yield Static("EVENTS", classes="head")
                yield self._events
        yield Footer()

    def on_mount(self) -> None:
        """Begin to follow."""
        table = self._table
        for place, column in enumerate(COLUMNS):
            table.add_column(Text(column, justify="left" if place < 2 else "right"), key=column)
        table.focus()
        self.render_all()
        self.run_worker(self._follow(), exclusive=True)

    async def _follow(self) -> None:
        async for update in self.follower.updates():
            match update:
                case Happened(notes):
                    self._add(notes)
                case Lost():
                    self._complain(update.line)
                case Looked():
                    self._complain("")
                    if not self.is_paused:
                        self.render_all()

    # What is shown

    def render_all(self) -> None:
        """Show what was seen last."""
        seen = self.follower.seen
        if seen is None:
            return
        sample = self.follower.history.samples[-1] if self.follower.history.samples else None
        paused = " · PAUSED" if self.is_paused else ""
        order = f" · by {self.sort}{' reversed' if self.is_reversed else ''}"
        self._say("title", shown.title(seen) + order + paused)
        self._say("summary", shown.summary(seen, sample))
        self._show_rows(seen)
        self._say("holding", _holding(seen))
        self._say("times_text", shown.times_text(sample))
        times = self.follower.history.times()[-TIMES_SHOWN:]
        self._times.data = shown.heights(times)
        if isinstance(self.screen, Inside):
            self.screen.show(seen)

    def _say(self, where: str, text: str) -> None:
        self._says[where].update(Text(text))

    def _show_rows(self, seen: Observed) -> None:
        """Change what has changed; only where the order has, the rows are made anew."""
        table = self._table
        lines = shown.ordered(shown.lines_of(seen), self.sort, is_reversed=self.is_reversed)[:MOST_ROWS]
        cells = {line.name: line.cells() for line in lines}
        styles = {line.name: STYLES.get(line.state, "cyan") for line in lines}
        if list(cells) == list(self._cells):
            for name, row in cells.items():
                for column, new, old in zip(COLUMNS, row, self._cells[name], strict=True):
                    if new != old:
                        table.update_cell(name, column, _cell(column, new, styles[name]), update_width=True)
        else:
            chosen = self.chosen() if table.cursor_row else ""  # on the first row it stays there
            table.clear()
            for name, row in cells.items():
                table.add_row(*map(_cell, COLUMNS, row, [styles[name]] * len(row)), key=name)
            if chosen in cells:
                table.move_cursor(row=list(cells).index(chosen), animate=False)
        self._cells = cells

    def _add(self, notes: Iterable[Note]) -> None:
        for note in notes:
            self._events.write(Text(shown.note_text(note)))

    def _complain(self, line: str) -> None:
        self._says["trouble"].display = bool(line)
        self._say("trouble", line)

    def chosen(self) -> str:
        """Return the member under the cursor."""
        names = list(self._cells)
        row = self._table.cursor_row
        return names[row] if 0 <= row < len(names) else ""

    # Keys

    def action_sort(self) -> None:
        """Sort by the next thing."""
        names = list(SORTS)
        self.sort = names[(names.index(self.sort) + 1) % len(names)]
        self.render_all()

    def action_reverse(self) -> None:
        """Turn the order around."""
        self.is_reversed = not self.is_reversed
        self.render_all()

    def action_pause(self) -> None:
        """Let the screen stand still, or go on."""
        self.is_paused = not self.is_paused
        self.render_all()

    def on_data_table_row_selected(self) -> None:
        """Look into the member under the cursor."""
        self.action_look_into()

    def action_look_into(self) -> None:
        """Look into the member under the cursor."""
        name, seen = self.chosen(), self.follower.seen
        if name and seen is not None and not isinstance(self.screen, Inside):
            self.push_screen(Inside(name, seen))


def _holding(seen: Observed) -> str:
    held = shown.holders(seen)
    more = [f"and {len(held) - MOST_HOLDING} more"] if len(held) > MOST_HOLDING else []
    return "\n".join([*held[:MOST_HOLDING], *more]) or "nobody"


def _cell(column: str, text: str, style: str) -> Text:
    left = column in COLUMNS[:2]
    return Text(text, style=style if column == "STATE" else "", justify="left" if left else "right")


class Inside(ModalScreen[None]):
    """All that is known of one member."""

    CSS = """
    Inside { align: center middle; }
    #inside { width: 90%; max-width: 110; height: 80%; padding: 1 2; }
    #inside { border: round $primary; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back"),
        Binding("enter,q,i", "dismiss", "Back", show=False),
    ]

    def __init__(self, name: str, seen: Observed) -> None:
        super().__init__()
        self._member = name
        self._seen = seen

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        with VerticalScroll(id="inside"):
            yield Static(id="details")
        yield Footer()

    def on_mount(self) -> None:
        """Show what is known at first."""
        self.show(self._seen)

    def show(self, seen: Observed) -> None:
        """Show what is known now."""
        self.query_one("#details", Static).update(Text("\n".join(shown.details(seen, self._member))))
