"""Data traffic beside the protocols: repair, buffers, triggers and the techniques of section 7."""

import dataclasses

import pytest

from stablecast.errors import InvalidInput
from stablecast.simulate import Setup, Traffic, Trigger, costs, simulate, topology

PROTOCOLS = ["coordp", "fulldist", "train", "s_coordp", "s_train"]
SHAPE = topology("tree", degree=3, height=2)
PERIODIC = Trigger(kind="periodic", period_ms=50)


def run(protocol, traffic, trigger=PERIODIC, **more):
    return simulate(Setup(protocol=protocol, topology=SHAPE, traffic=traffic, trigger=trigger, **more))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_everything_sent_becomes_stable_everywhere(protocol):
    result = run(protocol, Traffic(messages=10, rate_per_s=20))
    assert result.completed
    assert result.traffic.messages == result.traffic.messages_stable == 130


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("loss", [0.05, 0.4])
def test_lost_data_is_repaired_and_becomes_stable(protocol, loss):
    result = run(protocol, Traffic(messages=10, rate_per_s=20, data_loss=loss), seed=5)
    assert result.lost > 0
    assert result.data_hops["NAK"] > 0
    assert result.completed


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_once_losses_of_every_kind_end_everything_becomes_stable(protocol):
    result = run(
        protocol,
        Traffic(messages=5, rate_per_s=20),
        Trigger(kind="periodic", period_ms=50, retry_ms=200),
        costs=costs("lan1997", link_loss=0.1),
        loss_until_ms=1000,
        seed=2,
    )
    assert result.lost > 0
    assert result.completed


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_message_lost_without_retry_stalls_and_says_so(protocol):
    model = costs("lan1997", link_loss=0.3)
    result = simulate(Setup(protocol=protocol, topology=SHAPE, costs=model, seed=1))
    assert result.lost > 0
    assert not result.completed


def test_full_link_queues_drop_and_the_loss_is_repaired():
    result = run(
        "s_coordp",
        Traffic(messages=20, rate_per_s=500, data_bytes=1000),
        Trigger(kind="periodic", period_ms=50, retry_ms=200),
        costs=costs("lan1997", queue_limit=2, bandwidth_bps=10e6),
    )
    assert result.dropped > 0
    assert result.queue_max == 2
    assert result.completed


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_time_to_stable_stays_below_delivery_plus_period_plus_round_trip(protocol):
    result = run(protocol, Traffic(messages=20, rate_per_s=20))
    data = result.traffic
    period = max(data.start_gap_max_us, result.round_trip_max_us)
    assert data.tts_max_us <= data.delivery_max_us + period + result.rtt_last_max_us


def test_a_sender_waits_while_its_buffer_is_full():
    result = run("s_coordp", Traffic(messages=40, rate_per_s=1000, buffer=4))
    assert result.completed
    assert result.traffic.buffer_max == 4
    assert result.traffic.blocked > 0


def test_grouped_senders_share_sequences_and_shrink_the_arrays():
    alone = run("coordp", Traffic(messages=10, rate_per_s=20))
    grouped = run("coordp", Traffic(messages=10, rate_per_s=20, sender_groups=2))
    single = run("coordp", Traffic(messages=10, rate_per_s=20, sender_groups=1))
    assert grouped.completed
    assert single.completed
    assert grouped.traffic.messages == alone.traffic.messages
    assert grouped.data_hops["REQUEST"] > 0
    cost = [result.hop_bytes / result.executions for result in (alone, grouped, single)]
    assert cost[0] > cost[1] > cost[2]


def test_piggybacked_messages_ride_without_their_headers():
    plain = run("fulldist", Traffic(messages=20, rate_per_s=20))
    riding = run("fulldist", Traffic(messages=20, rate_per_s=20, piggyback_ms=50))
    assert riding.completed
    assert riding.riders > 0
    assert riding.hops["total"] / riding.executions < plain.hops["total"] / plain.executions


def test_riders_bytes_are_counted_on_every_hop_of_the_data_that_carries_them():
    riding = run("fulldist", Traffic(messages=20, rate_per_s=20, piggyback_ms=50))
    array_bytes, hops_to_all = 13 * 4, 12
    assert riding.carried_hop_bytes == riding.riders * array_bytes * hops_to_all
    data_bytes = 1000 + 32
    assert riding.data_hop_bytes == {"DATA": riding.data_hops["DATA"] * data_bytes}


def test_host_time_is_what_sending_and_receiving_take():
    result = simulate(Setup(protocol="coordp", topology=SHAPE, senders=1))
    small, large = 338 + 47 / 400 * 32, 338 + 47 / 400 * 36
    start, acks, info = small * (1 + 1.1 * 13), large * (1 + 1.1) * 12, large * (1 + 1.1 * 13)
    assert result.host_us == pytest.approx(start + acks + info)


def riding(protocol, piggyback, **more):
    traffic = Traffic(messages=20, rate_per_s=20, piggyback_ms=50, piggyback=piggyback)
    return run(protocol, traffic, **more)


def test_acknowledgements_ride_only_where_that_saves_something():
    everything, gaining = (riding("s_coordp", each) for each in ("all", "both"))
    plain = run("s_coordp", Traffic(messages=20, rate_per_s=20))
    assert gaining.hops["ACK"] == 12 * gaining.executions, "each on its own"
    assert gaining.riders > 0, "START and INFO ride"
    assert everything.hops["ACK"] < 12 * everything.executions

    def net(result):
        return (result.hop_bytes + result.carried_hop_bytes) / result.executions

    assert net(gaining) < net(plain) < net(everything)
    assert gaining.host_us / gaining.executions < plain.host_us / plain.executions


def test_small_acknowledgements_save_time_by_riding_and_large_ones_do_not():
    few, many = (riding("s_coordp", "time", senders=senders) for senders in (2, 13))
    in_bytes = riding("s_coordp", "bytes", senders=2)
    assert few.hops["ACK"] < 12 * few.executions
    assert in_bytes.hops["ACK"] == 12 * in_bytes.executions
    assert many.hops["ACK"] < 12 * many.executions
    costly = riding("s_coordp", "time", costs=costs("lan1997", entry_bytes=40))
    assert costly.hops["ACK"] == 12 * costly.executions


def test_who_hands_its_data_to_another_member_lets_nothing_wait_for_it():
    traffic = Traffic(messages=20, rate_per_s=20, sender_groups=1, piggyback_ms=50)
    result = run("s_coordp", traffic)
    assert result.hops["ACK"] == 12 * result.executions


def test_changed_entries_only_cost_what_changed():
    full = run("s_coordp", Traffic(messages=5, rate_per_s=2))
    changed = run("s_coordp", Traffic(messages=5, rate_per_s=2), changed_only=True)
    assert changed.completed
    assert changed.hop_bytes / changed.executions < 0.7 * full.hop_bytes / full.executions


def test_the_pressure_trigger_starts_at_the_threshold():
    traffic = Traffic(messages=40, rate_per_s=20, buffer=16)
    result = run("s_coordp", traffic, Trigger(kind="pressure", threshold=8))
    assert result.completed
    assert 8 <= result.traffic.first_buffer_max <= 9
    assert result.executions >= 5


@pytest.mark.parametrize(
    "make",
    [
        lambda: Traffic(messages=-1),
        lambda: Traffic(rate_per_s=0),
        lambda: Traffic(rate_per_s=float("nan")),
        lambda: Traffic(buffer=0),
        lambda: Traffic(data_loss=1),
        lambda: Trigger(kind="sometimes"),
        lambda: Trigger(executions=0),
        lambda: Trigger(period_ms=0),
        lambda: Trigger(threshold=0),
        lambda: Trigger(retry_ms=-1),
        lambda: Setup(protocol="coordp", topology=SHAPE, senders=14),
        lambda: Setup(protocol="coordp", topology=SHAPE, seed=-1),
        lambda: Setup(protocol="coordp", topology=SHAPE, tracked=99),
        lambda: Setup(protocol="coordp", topology=SHAPE, traffic=Traffic(sender_groups=14)),
        lambda: Setup(protocol="coordp", topology=SHAPE, trigger=Trigger(kind="pressure")),
        lambda: Setup(protocol="coordp", topology=SHAPE, traffic=Traffic(messages=1)),
        lambda: Setup(protocol="coordp", topology=SHAPE, loss_until_ms=-1.0),
    ],
)
def test_what_cannot_be_run_is_refused_with_one_line(make):
    with pytest.raises(InvalidInput) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_senders_with_rates_of_their_own_send_for_as_long_as_the_others():
    traffic = Traffic(messages=10, rate_per_s=20, first_rates_per_s="200,6")
    result = run("coordp", traffic, senders=3)
    assert result.completed
    assert result.traffic.messages == result.traffic.messages_stable == 100 + 3 + 10
    assert 470_000 < result.simulated_us < 700_000


@pytest.mark.parametrize("rates", ["", "20", "20,20,20"])
def test_the_common_rate_given_once_more_changes_nothing(rates):
    plain, again = (
        run("s_coordp", Traffic(messages=10, rate_per_s=20, first_rates_per_s=each), senders=3)
        for each in ("", rates)
    )
    assert dataclasses.replace(again, wall_s=plain.wall_s) == plain


@pytest.mark.parametrize("rates", ["fast", "20,", "0", "-3", "inf", "nan"])
def test_what_is_no_rate_is_refused(rates):
    with pytest.raises(InvalidInput, match="first_rates_per_s"):
        Traffic(first_rates_per_s=rates)


def test_more_rates_than_senders_are_refused():
    with pytest.raises(InvalidInput, match="3 rates for 2 senders"):
        run("coordp", Traffic(messages=2, first_rates_per_s="1,2,3"), senders=2)


@pytest.mark.parametrize("protocol", ["timestamp", "vector", "explicit"])
def test_acknowledgements_ride_on_data_and_save_their_headers(protocol):
    alone, riding = (
        simulate(
            Setup(
                protocol=protocol,
                topology=SHAPE,
                traffic=Traffic(messages=20, rate_per_s=50, piggyback_ms=ms),
                params={"ack_every_ms": 20},
            )
        )
        for ms in (0, 40)
    )
    assert riding.completed
    assert riding.riders > 100
    assert riding.sent_bytes < alone.sent_bytes / 3
    assert riding.attached_bytes == alone.attached_bytes
    assert riding.sent_bytes + riding.rider_bytes < 0.7 * alone.sent_bytes
