"""What a fault does to a run: chooses among those who live, does it, and undoes it when its time is over."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tests.soak.faults import Fault
from tests.soak.links import Link, Links, links_of

if TYPE_CHECKING:
    from tests.soak.players import Player
    from tests.soak.run import Run

Act = Callable[[Fault, "list[Player]"], None]


class Trouble:
    """Brings a schedule's faults over a run."""

    def __init__(self, run: Run) -> None:
        self.happened: set[str] = set()
        """Kinds of faults for which there was somebody."""
        self._run = run
        self._links = Links(run.network)
        self._acts: dict[str, Act] = {
            "crash": lambda fault, few: few[0].crash(),
            "restart": self._restart,
            "crash-loop": self._crash_loop,
            "pause": self._pause,
            "slow": self._slow,
            "leave": lambda fault, few: few[0].leave(),
            "join": lambda fault, few: run.start_newcomer(),
            "mass-join": self._mass_join,
            "mass-leave": self._mass_leave,
            "mass-crash": self._mass_crash,
            "partition": self._partition,
            "split3": self._split3,
            "one-way": self._cut,
            "bridge": self._cut,
            "flap": self._flap,
            "jump": self._jump,
            "rotate": lambda fault, few: run.rotation.begin(fault.for_s, fault.who),
            "replay": self._replay,
        }

    def befall(self, fault: Fault) -> None:
        """Let a fault happen, if there is still somebody whom it can happen to."""
        players = [player for player in self._run.living if not player.is_leaving]
        if len(players) < 2 and fault.kind not in ("join", "mass-join"):
            return
        self.happened.add(fault.kind)
        random.Random(fault.who).shuffle(players)
        self._run.say(f"{fault}: {' '.join(player.name for player in players[:3])}")
        self._acts[fault.kind](fault, players)

    def _later(self, delay_s: float, callback: Callable[[], object]) -> None:
        self._run.clock.call_at(self._run.clock.now + delay_s, callback)

    # Processes

    def _restart(self, fault: Fault, players: list[Player]) -> None:
        player = players[0]
        player.crash()
        self._later(fault.for_s, partial(self._run.restart, player, elsewhere=fault.how == "elsewhere"))

    def _crash_loop(self, fault: Fault, players: list[Player]) -> None:
        """End whoever has a name again and again, and let another process begin under it at once."""
        for k in range(round(fault.for_s / fault.amount) + 1):
            elsewhere = fault.how == "moving" and k % 2 == 1
            self._later(k * fault.amount, partial(self._crash_and_restart, players[0].name, elsewhere))

    def _crash_and_restart(self, name: str, elsewhere: bool) -> None:
        for player in self._run.living:
            if player.name == name and not player.is_leaving:
                player.crash()
                self._run.restart(player, elsewhere=elsewhere)

    def _pause(self, fault: Fault, players: list[Player]) -> None:
        players[0].transport.pause()
        self._later(fault.for_s, players[0].transport.resume)

    def _slow(self, fault: Fault, players: list[Player]) -> None:
        players[0].is_slow = True
        self._later(fault.for_s, players[0].read_again)

    def _jump(self, fault: Fault, players: list[Player]) -> None:
        clock = self._run.clocks[players[0].transport.address]
        clock.jump(fault.amount)

    # Many at once

    def _share(self, fault: Fault, players: list[Player]) -> list[Player]:
        return players[: max(1, int(len(players) * fault.amount))]

    def _mass_join(self, fault: Fault, players: list[Player]) -> None:
        for _ in range(max(1, int(self._run.schedule.members * fault.amount))):
            self._run.start_newcomer()

    def _mass_leave(self, fault: Fault, players: list[Player]) -> None:
        for player in self._share(fault, players):
            player.leave()

    def _mass_crash(self, fault: Fault, players: list[Player]) -> None:
        gone = self._share(fault, players)
        for player in gone:
            player.crash()
        if fault.how == "restart":
            for player in gone:
                self._later(fault.for_s, partial(self._run.restart, player))

    # Links

    def _partition(self, fault: Fault, players: list[Player]) -> None:
        side = players[: 1 + fault.who % (len(players) - 1)]
        self._run.network.partition([player.transport for player in side])
        self._later(fault.for_s, self._run.network.heal)

    def _split3(self, fault: Fault, players: list[Player]) -> None:
        network = self._run.network
        first, second = ([player.transport for player in players[k::3]] for k in (0, 1))
        network.partition(first, second)
        if fault.how == "pairwise":
            self._later(fault.for_s / 2, lambda: network.partition(first))
        self._later(fault.for_s, network.heal)

    def _cut(self, fault: Fault, players: list[Player]) -> None:
        links = links_of(fault, [player.transport.address for player in players])
        self._links.take_down(links)
        self._later(fault.for_s, lambda: self._links.bring_up(links))

    def _flap(self, fault: Fault, players: list[Player]) -> None:
        self._turn_down(links_of(fault, [p.transport.address for p in players]), fault, fault.for_s)

    def _turn_down(self, links: list[Link], fault: Fault, left_s: float) -> None:
        """Take links down and up again, and come back for the next time."""
        if left_s <= 0:
            return
        down_s = min(fault.amount, left_s)
        self._links.take_down(links)
        self._later(down_s, lambda: self._links.bring_up(links))
        self._later(2 * fault.amount, lambda: self._turn_down(links, fault, left_s - 2 * fault.amount))

    # Strangers

    def _replay(self, fault: Fault, players: list[Player]) -> None:
        stranger = self._run.stranger
        assert stranger is not None
        if fault.how == "hold-back":
            stranger.hold_back(fault.for_s)
        else:
            stranger.replay(fault.for_s, [player.transport.address for player in players])
