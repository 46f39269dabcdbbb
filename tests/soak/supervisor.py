"""Who starts processes again: at once if a schedule says so; those who could not join, in any case."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from stablecast.membership.capacity import fits

if TYPE_CHECKING:
    from tests.soak.players import Player
    from tests.soak.run import Run

JOIN_AGAIN_S = 0.2
CUT_OFF_MOST = 4
"""How often a name that was cut off is started anew; then it comes back by itself."""


class Supervisor:
    """Hears what becomes of processes, and starts others in their place."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._cut_off: Counter[str] = Counter()
        self._waiting = 0
        """Processes that are to be started soon."""

    @property
    def is_done(self) -> bool:
        """Whether nobody has to be started any more."""
        return not self._waiting and not any(self._is_owed(player) for player in self._run.players)

    def _is_owed(self, player: Player) -> bool:
        """Whether a process that could not join is to try again: not if it was told that there is no room."""
        if not player.could_not_join:
            return False
        return fits(len(self._run.living) + 1, self._run.members_most)

    def hear(self, player: Player, why: str) -> None:
        """Hear what becomes of a process; it is in the middle of something, so what follows comes later."""
        delay_s = self._run.schedule.supervisor_s
        if delay_s is None:
            return
        if why == "could not join":
            player.could_not_join = ""
            self._start_again(player, max(delay_s, JOIN_AGAIN_S))
        elif why == "crashed":
            self._start_again(player, delay_s)
        elif self._cut_off[player.name] < CUT_OFF_MOST:
            self._cut_off[player.name] += 1
            self._run.clock.call_at(self._run.clock.now, self._end, player)

    def _end(self, player: Player) -> None:
        if not player.has_ended and not player.is_leaving:
            player.crash()

    def _start_again(self, player: Player, delay_s: float) -> None:
        self._waiting += 1
        self._run.clock.call_at(self._run.clock.now + delay_s, self._start, player)

    def _start(self, player: Player) -> None:
        self._waiting -= 1
        self._run.restart(player)

    def replace_those_who_could_not_join(self) -> None:
        """Start others for processes that asked members in vain."""
        for player in self._run.players:
            if self._is_owed(player):
                player.could_not_join = ""
                self._start_again(player, JOIN_AGAIN_S)
