import errno
import json
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from stablecast.cli.main import main
from stablecast.papers.hierarchical.theory import hops
from stablecast.protocols import protocol as found
from stablecast.simulate.compiled import loop_name

FIELDS = {
    "protocol", "members", "senders", "seed", "topology", "hops", "messages_sent", "rounds", "processed_max",
    "rtt_root_us", "rtt_first_us", "rtt_last_us", "queue_max", "queue_mean", "simulated_us", "wall_s",
}  # fmt: skip
STAMPED = ["simulate", "timestamp"]


def run(capsys, *arguments):
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("protocol", ["coordp", "fulldist", "train", "s_coordp", "s_train"])
def test_json_has_the_promised_fields_and_the_hops_of_table_4(capsys, protocol):
    shape = ["--topology", "tree", "--degree", "3", "--height", "3", "--fill", "3"]
    model = ["--costs", "links-only", "--propagation-us", "1"]
    code, out, err = run(capsys, "simulate", protocol, *shape, *model, "--json")
    assert code == 0
    assert err == ""
    result = json.loads(out)
    assert result.keys() >= FIELDS
    assert result["hops"] == hops(protocol, 3, 3, 3)
    assert result["members"] == 40


def test_timestamps_of_logical_clocks_by_the_command_line(capsys):
    code, out, err = run(
        capsys, *STAMPED, "--members", "50", "--senders", "20", "--clock", "logical", "--json"
    )
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result.keys() >= FIELDS | {"sent_bytes", "attached_bytes", "operations"}
    assert result["completed"]
    assert result["traffic"]["messages_stable"] == 20 * 20
    assert result["attached_bytes"] == 20 * 20 * 8


def test_without_json_a_readable_table_is_printed(capsys):
    code, out, _ = run(capsys, "simulate", "s_coordp", "--degree", "2", "--height", "2")
    assert code == 0
    assert "RTT at the first member" in out
    assert "7 members" in out


def test_the_same_command_gives_the_same_result_twice(capsys):
    command = [
        "simulate",
        "coordp",
        "--degree",
        "2",
        "--height",
        "3",
        "--messages",
        "5",
        "--data-loss",
        "0.1",
    ]
    first, second = (json.loads(run(capsys, *command, "--seed", "3", "--json")[1]) for _ in range(2))
    del first["wall_s"], second["wall_s"]
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["simulate", "cordp"], "did you mean 'coordp'"),
        (["simulate", "coordp", "--topology", "tre"], "did you mean 'tree'"),
        (["simulate", "coordp", "--costs", "moon"], "unknown costs 'moon'"),
        (["simulate", "coordp", "--fill", "9"], "accepted: 1 to 3"),
        (["simulate", "coordp", "--height", "0"], "accepted: 1 or more"),
        (["simulate", "coordp", "--degree", "0"], "accepted: 1 or more"),
        (["simulate", "coordp", "--members", "365"], "accepted: 1 to 364"),
        (["simulate", "coordp", "--bandwidth-bps", "nan"], "bandwidth_bps"),
        (["simulate", "coordp", "--bandwidth-bps", "0"], "bandwidth_bps"),
        (["simulate", "coordp", "--propagation-us", "-1"], "propagation_us"),
        (["simulate", "coordp", "--router-us", "inf"], "router_us"),
        (["simulate", "coordp", "--senders", "365"], "365 senders"),
        (["simulate", "coordp", "--seed", "-1"], "seed -1"),
        (["simulate", "coordp", "--degree", "three"], "--degree"),
        (["simulate", "coordp", "--no-such-option"], "--no-such-option"),
        (["simulate"], "protocol"),
        (["simulate", "coordp", "--trace", "x.parquet"], "--trace needs data traffic"),
        (["simulate", "coordp", "--wire"], "--wire is about a trace (give --trace FILE)"),
        (["simulate", "gsgc", "--wire", "--trace", "x.parquet", "--faults", "crash 1 at 5"], "--faults"),
        (["simulate", "coordp", "--messages", "1", "--trace", "no/such/x.parquet"], "cannot write"),
        (["simulate", "coordp", "--trigger", "pressure"], "pressure trigger needs data traffic"),
        ([*STAMPED, "--clock", "atomic"], "unknown clock 'atomic' (accepted: hybrid, logical, physical)"),
        ([*STAMPED, "--drift-ppm", "-1"], "drift_ppm -1.0"),
        ([*STAMPED, "--drift-ppm", "nan"], "drift_ppm nan"),
        ([*STAMPED, "--drift-ppm", "20000", "--skew-us", "1e9"], "accepted: 0 to 10000"),
        ([*STAMPED, "--drift-ppm", "10"], "differ by up to 1200 us (accepted: that or more"),
        ([*STAMPED, "--skew-us", "-5"], "skew_us -5.0"),
        ([*STAMPED, "--skew-us", "1e30"], "accepted: 0 to 8.64e+11"),
        ([*STAMPED, "--sync-s", "0"], "sync_s 0.0"),
        ([*STAMPED, "--send-every-ms", "0"], "send_every_ms 0.0"),
        ([*STAMPED, "--ack-every-ms", "-3"], "ack_every_ms -3.0"),
        ([*STAMPED, "--ack-to", "nobody"], "unknown ack_to 'nobody'"),
        ([*STAMPED, "--stamp-bytes", "0"], "stamp_bytes 0"),
        ([*STAMPED, "--receivers", "0"], "0 receivers"),
        ([*STAMPED, "--receivers", "2", "--trace", "x.parquet"], "leave out --receivers"),
        ([*STAMPED, "--executions", "2"], "leave executions out"),
        (["simulate", "vector", "--know", "some"], "unknown know 'some'"),
        (
            ["simulate", "vector", "--clock", "logical"],
            "vector has no option --clock (accepted: --ack-every-ms, --ack-to, --know;",
        ),
        (["simulate", "coordp", "--receivers", "3"], "leave receivers out"),
        (["no-such-command"], "no-such-command"),
        (["reproduce", "no-such-paper"], "unknown paper"),
    ],
)
def test_wrong_usage_gets_one_line_and_exit_code_2(capsys, arguments, what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert what in err
    assert len(err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_stalled_run_exits_1_and_still_prints_its_result(capsys):
    code, out, err = run(capsys, "simulate", "coordp", "--link-loss", "0.3", "--json")
    assert code == 1
    assert json.loads(out)["completed"] is False
    assert "did not finish" in err


def test_protocols_lists_the_registry(capsys):
    code, out, _ = run(capsys, "protocols", "--json")
    assert code == 0
    assert {"coordp", "s_train"} <= {entry["name"] for entry in json.loads(out)}
    assert "s_coordp" in run(capsys, "protocols")[1]


def test_the_console_script_shows_help_with_an_example():
    command = [sys.executable, "-m", "stablecast.cli.main", "simulate", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Example: stablecast simulate" in shown


def test_a_trace_is_written_whole(capsys, tmp_path):
    file = tmp_path / "events.parquet"
    command = [
        "simulate",
        "s_coordp",
        "--degree",
        "2",
        "--height",
        "2",
        "--messages",
        "3",
        "--trace",
        str(file),
    ]
    assert run(capsys, *command)[0] == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["events.parquet"]


def test_a_wire_trace_needs_no_data_traffic(capsys, tmp_path):
    file = tmp_path / "events.parquet"
    command = ["simulate", "--wire", "s_coordp", "--degree", "2", "--height", "2", "--trace", str(file)]
    code, out, err = run(capsys, *command, "--json")
    assert (code, err) == (0, "")
    rows = pq.read_table(file).to_pylist()
    assert {row["kind"] for row in rows} == {"join", "transmit", "arrive"}
    assert {row["message"] for row in rows} == {None, *json.loads(out)["hops"]} - {"total"}


SMALL_RUN = ["simulate", "s_coordp", "--degree", "2", "--height", "2", "--messages", "3", "--trace"]


def test_a_trace_on_a_full_disk_is_one_line_and_leaves_nothing(capsys, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "[Errno 28] Error writing bytes to file. Detail: No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", fail)
    file = tmp_path / "events.parquet"
    code, out, err = run(capsys, *SMALL_RUN, str(file))
    assert (code, out) == (1, "")
    assert err == f"stablecast: cannot write the trace '{file}': No space left on device\n"
    assert not list(tmp_path.iterdir())


def test_a_trace_replaces_nothing_but_a_file(capsys, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code, _, err = run(capsys, *SMALL_RUN, str(pipe))
    assert code == 2
    assert err == f"stablecast: cannot write the trace '{pipe}': it is no file that can be replaced\n"
    assert list(tmp_path.iterdir()) == [pipe]
    assert pipe.is_fifo()


def test_the_help_of_a_protocol_shows_its_own_options_and_no_other_ones(capsys):
    code, out, _ = run(capsys, "simulate", "gsgc", "--help")
    assert code == 0
    assert "Options of gsgc" in out
    assert "--threshold-steps" in out
    assert "--resend-ms" not in out
    assert run(capsys, "simulate", "--help", "gsgc")[1] == out


def test_the_help_without_a_protocol_shows_the_options_of_every_run(capsys):
    code, out, _ = run(capsys, "simulate", "--help")
    assert code == 0
    assert "--heartbeat-ms" in out
    assert "--threshold-steps" not in out
    assert "PROTOCOL --help" in out


def test_the_protocol_may_come_behind_options_and_their_values(capsys):
    shape = ["--degree", "2", "--height", "2", "--json"]
    first = json.loads(run(capsys, "simulate", "coordp", *shape, "--resend-ms", "20")[1])
    second = json.loads(run(capsys, "simulate", "--resend-ms", "20", *shape, "coordp")[1])
    del first["wall_s"], second["wall_s"]
    assert first == second


def test_a_file_that_defines_a_protocol_runs_with_its_own_options(capsys, tmp_path):
    """The kernels, and so the compiled loop, are those of another protocol."""
    file = tmp_path / "mild_cube.py"
    file.write_text(
        "from dataclasses import replace\n"
        "from stablecast.protocols import cubefulldist\n"
        "MILD = {'free_bitmap': {'option': 'mild', 'help': 'Be mild.'}}\n"
        "PARAMETERS = tuple(\n"
        "    replace(each, **MILD.get(each.option_name, {})) for each in cubefulldist.PROTOCOL.parameters\n"
        ")\n"
        "PROTOCOL = cubefulldist.PROTOCOL.replace(about='mild_cube: an example.', parameters=PARAMETERS)\n"
    )
    assert loop_name(found(str(file))) == loop_name(found("cubefulldist"))
    assert "Be mild." in run(capsys, "simulate", str(file), "--help")[1]
    code, out, _ = run(capsys, "simulate", str(file), "--mild", "--degree", "2", "--height", "2", "--json")
    assert code == 0
    assert json.loads(out)["protocol"] == "mild_cube"
