"""What came of a simulated live group."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from stablecast.showing import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Told(NamedTuple):
    """An event that a member told its application."""

    time_us: int
    member: str
    kind: str
    about: str

    def __str__(self) -> str:
        return f"{self.time_us / 1e6:10.3f} s  {self.member:<8} {self.kind}  {self.about}"


@dataclass(frozen=True, kw_only=True)
class LiveResult:
    """The measurements of one run; those of the same name mean the same as in ``simulate.Result``."""

    protocol: str
    members: int
    senders: int
    seed: int
    topology: str
    topology_label: str
    completed: bool
    """Whether all messages of senders that stayed are known to them to be stable."""
    messages: int
    """Data messages sent, and known by their senders to be stable; some of these in a smaller view."""
    messages_stable: int
    messages_in_smaller_view: int
    tts_mean_us: float | None
    """Time to stable: from handing a message over to its sender's knowing that everyone has it."""
    tts_p50_us: float | None
    tts_p99_us: float | None
    tts_max_us: float | None
    deliveries: int
    """Messages delivered at members other than their senders."""
    deliveries_given_up: int
    """Messages that members gave up in bimodal delivery, and how many different messages these are."""
    messages_given_up: int
    delivery_p50_us: float | None
    """From handing a message over to its delivery."""
    delivery_p99_us: float | None
    delivery_max_us: float
    blocked: int
    """Times that a sender had to wait before it could hand a message over."""
    repairs_asked: int
    """Requests for missing parts, and runs sent again because of them."""
    repairs_sent: int
    datagrams: int
    """Datagrams that left their senders' hosts, each copy counted; and their bytes, with headers."""
    sent_bytes: int
    data_bytes_sent: int
    """Bytes of frames, one copy each: messages, all else, and repairs."""
    control_bytes_sent: int
    repair_bytes_sent: int
    across_datagrams: int
    """Copies of datagrams for members of another site, with IP multicast one for each; and their bytes."""
    across_bytes: int
    step_us: float
    """Time between two steps of the stability protocol at the end, the mean of all members."""
    hop_bytes: int
    """Bytes on all hops, with the header of each packet."""
    packet_hops: int
    peak_bytes_max: int
    """Most bytes that one member kept at a time; and the mean of all members' peaks."""
    peak_bytes_mean: float
    views: int
    """Views that the member with the most of them was in."""
    members_at_end: int
    """Members of the largest view at the end, and how many views there are."""
    views_at_end: int
    queue_max: int
    """Most packets on one link; the mean, recorded each time that a packet is put on a link."""
    queue_mean: float
    host_queue_max: int
    """Most packets at one processor."""
    host_load_max: float
    """Share of the time for which datagrams kept a member's processor busy, at the one that had most to do;
    and which member that is."""
    host_load_member: int
    host_load_mean: float
    """The same share, the mean of all members."""
    link_load_max: float
    """Share of the time for which the busiest link was taken."""
    dropped: int
    """Packets that a full link dropped."""
    lost: int
    """Packets lost on links."""
    refused: int
    """Datagrams that members refused, such as those that came twice."""
    simulated_us: float
    events: int
    """Events of the simulation."""
    digest: str
    """The same for the same deliveries, outcomes and events at the same times."""
    told: tuple[Told, ...]
    """Events that members told, in their order."""
    wall_s: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        plain = asdict(self)
        plain["told"] = [event._asdict() for event in self.told]
        return plain

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the times to delivery and to stable; needs matplotlib."""
        return plot(self, axes)

    def _repr_html_(self) -> str:
        from stablecast.simulate.live.showing import card_of_live_run

        return card_of_live_run(self).html()
