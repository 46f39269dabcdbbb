"""Kernels broken by hand: the checkers, the liveness check or the comparison of drivers must notice.

The broken copies run uncompiled, so that each takes a second.  ``docs/testing.md`` lists what was tried.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
NURSERY = Path(__file__).parent / "mutation_nursery.py"

MUTATIONS = {
    "coordp skips a minimum": (
        "coordp",
        "protocols/contract/kernels.py",
        "        take_minimum(into, array)\n",
        "        pass\n",
    ),
    "coordp drops a member": (
        "coordp",
        "protocols/coordp.py",
        "    if me.missing == 0:\n",
        "    if me.missing == 1:\n",
    ),
    "coordp forgets its own array": (
        "coordp",
        "protocols/coordp.py",
        "        take_in(me, me.received, out)\n",
        "        take_in(me, me.received + 64, out)\n",
    ),
    "fulldist finishes one INFO early": (
        "fulldist",
        "protocols/fulldist.py",
        "    if me.through[slot] == me.group_size:\n",
        "    if me.through[slot] == me.group_size - 1:\n",
    ),
    "fulldist keeps the counts of the last execution": (
        "fulldist",
        "protocols/fulldist.py",
        "    empty(me, execution % 2)\n",
        "    pass\n",
    ),
    "train passes on without its own minimum": (
        "train",
        "protocols/train.py",
        "    take_minimum(me.S, me.received)\n",
        "    pass\n",
    ),
    "train's first member does not learn": (
        "train",
        "protocols/train.py",
        "        declare_stable(me, out, message.execution, me.S)\n",
        "        pass\n",
    ),
    "s_coordp does not wait for its last child": (
        "s_coordp",
        "protocols/s_coordp.py",
        "    me.missing = 1 + me.children\n",
        "    me.missing = max(1, me.children)\n",
    ),
    "s_coordp reports without its own array": (
        "s_coordp",
        "protocols/s_coordp.py",
        "            gather(me.S, me.received, me.gathered == 0)\n",
        "            pass\n",
    ),
    "s_train takes the last array for the minimum": (
        "s_train",
        "protocols/contract/kernels.py",
        "        take_minimum(into, array)\n",
        "        copy_into(into, array)\n",
    ),
    "s_train does not wait for its children": (
        "s_train",
        "protocols/s_train.py",
        "    me.missing = 1 + (me.children > 0)\n",
        "    me.missing = 1\n",
    ),
    "stability is declared one too far": (
        "s_coordp",
        "protocols/contract/kernels.py",
        "        raise_to(me.stable, array)\n",
        "        raise_to(me.stable, array + 1)\n",
    ),
    "a declared frontier goes back": (
        "coordp",
        "protocols/contract/kernels.py",
        "        raise_to(me.stable, array)\n",
        "        copy_into(me.stable, array - me.execution % 2)\n",
    ),
    "stability changes without being declared": (
        "train",
        "protocols/contract/kernels.py",
        "        raise_to(me.stable, array)\n        out.marks.rose = 1\n",
        "        raise_to(me.stable, array)\n",
    ),
    "the window takes a gap for a prefix": (
        "coordp",
        "frontier/window.py",
        "    while ahead[column, (front + 1) % size]:\n",
        "    front = seq - 1\n    while ahead[column, (front + 1) % size]:\n",
    ),
    "the fast engine's serial routers forget that they are busy": (
        "coordp",
        "simulate/hosts.py",
        "    host.free_at = max(now, host.free_at) + cost_ps\n",
        "    host.free_at = now + cost_ps\n",
    ),
    "the fast engine forwards a multicast back": (
        "coordp",
        "simulate/wires.py",
        "        if sim.cast_link[k] != back:\n",
        "        if True:\n",
    ),
    "simultaneous events come out in another order": (
        "fulldist",
        "simulate/queues.py",
        "heap[up].at == at and heap[up].server < server",
        "heap[up].at == at and heap[up].server > server",
    ),
    "the fast engine lets go of an array that another message carries": (
        "cubefulldist",
        "simulate/drive.py",
        "        sim.slot_uses[record.slot] += 1\n",
        "        pass\n",
    ),
    "two arrays of a member lie in the same place": (
        "transitive",
        "protocols/contract/layout.py",
        "                position[kind.storage] += kind.size(sizes)\n",
        "                position[kind.storage] += kind.length(sizes)\n",
    ),
    "gsgc enters a round without itself": (
        "gsgc",
        "protocols/gsgc.py",
        "        start_round(me, now)\n    take_late(me)\n",
        "        start_round(me, now)\n    me.M[:], me.W[:] = message.M, message.W\n    take_late(me)\n",
    ),
    "gsgc takes the last array for the minimum": (
        "gsgc",
        "protocols/_gossip.py",
        "    gather(M, others_M, is_empty(W))\n",
        "    copy_into(M, others_M)\n",
    ),
    "gsgc does not wait for everyone": (
        "gsgc",
        "frontier/sets.py",
        "        if members[k] != (1 << min(BITS, n - k * BITS)) - 1:\n",
        "        if members[k] < 1 << (min(BITS, n - k * BITS) - 1):\n",
    ),
    "gsgc never strikes anyone off": (
        "gsgc-crash",
        "protocols/_gossip_members.py",
        "            me.live[j] += 1\n",
        "            pass\n",
    ),
    "gsgc forgets signs of life that came through others": (
        "gsgc-crash",
        "protocols/_gossip_members.py",
        "            me.live[j] = min(me.live[j], live[j])\n",
        "            pass\n",
    ),
    "gsgc waits for members that were struck off": (
        "gsgc-crash",
        "protocols/_gossip_members.py",
        "        if is_in(me, j) and not has(me.W, j):\n",
        "        if not has(me.W, j):\n",
    ),
    "cubefulldist forgets a neighbour's minimum": (
        "cubefulldist",
        "protocols/cubefulldist.py",
        "    gather(me.M, M, me.started == 0)\n",
        "    if me.started == 0:\n        gather(me.M, M, True)\n",
    ),
    "cubefulldist sets M to R after merging": (
        "cubefulldist",
        "protocols/cubefulldist.py",
        "    gather(me.M, me.received, me.started == 0)\n",
        "    gather(me.M, me.received, True)\n",
    ),
    "cubefulldist keeps G into the next round": (
        "cubefulldist",
        "protocols/cubefulldist.py",
        "    clear(me.G)\n",
        "    pass\n",
    ),
    "cubefulldist leaves out the closing message": (
        "cubefulldist",
        "protocols/cubefulldist.py",
        "    me.iteration += 1\n    tell_neighbours(me, now, out)\n    cube.keep_result(me)\n",
        "    cube.keep_result(me)\n",
    ),
    "cubefulldist does not answer for the last round": (
        "cubefulldist",
        "protocols/layers/cube.py",
        "            send(out, source, STABILITY(message.round, LAST - 1, me.closed, me.everyone))\n",
        "            pass\n",
    ),
    "cubefulldist waits for one that is gone": (
        "cubefulldist-crash",
        "protocols/layers/cube.py",
        "        add(me.G, member)\n",
        "        pass\n",
    ),
    "cubefulldist forgets in the next round who is gone": (
        "cubefulldist-crash",
        "protocols/layers/cube.py",
        "        copy_into(me.G, me.gone)\n",
        "        pass\n",
    ),
    "coord counts an answer twice": (
        "coord",
        "protocols/layers/__init__.py",
        "    if has(known, j):\n        return False\n",
        "",
    ),
    "coord does not ask again": (
        "coord",
        "protocols/layers/__init__.py",
        "        set_timer(out, now + me.params.resend)\n",
        "        pass\n",
    ),
    "coord does not wait for what it told to be confirmed": (
        "coord",
        "protocols/layers/star.py",
        "        _wait_for_all(me, TELLING, now, out)\n",
        "        pass\n",
    ),
    "coord does not count those who are gone": (
        "coord-crash",
        "protocols/layers/star.py",
        "        me.gone_count += 1\n",
        "        pass\n",
    ),
    "fulldist does not answer a repeat": (
        "fulldist-lossy",
        "protocols/layers/exchange.py",
        "            send(out, source, INFO(message.execution, me.received))\n",
        "            pass\n",
    ),
    "fulldist keeps whom it has heard into a later execution": (
        "fulldist-lossy",
        "protocols/layers/exchange.py",
        "        copy_into(me.heard[slot], me.gone)\n",
        "        pass\n",
    ),
    "fulldist does not count those who are gone": (
        "fulldist-crash",
        "protocols/layers/exchange.py",
        "        me.gone_count += 1\n",
        "        pass\n",
    ),
    "s_coord does not report again": (
        "s_coord",
        "protocols/layers/tree.py",
        "        if me.phase == REPORTED and resends(me):\n            report(me, out)\n",
        "",
    ),
    "s_coord is through before its children are": (
        "s_coord",
        "protocols/layers/tree.py",
        " and resends(me) and me.untold == 0:\n",
        " and resends(me):\n",
    ),
    "s_coord waits for a child that is gone": (
        "s_coord-crash",
        "protocols/layers/tree.py",
        "            lose_child(me, member, now, out)\n",
        "            pass\n",
    ),
    "s_coord does not ask the children of one that is gone": (
        "s_coord-succession",
        "protocols/layers/tree.py",
        "                ask_those_below(me, member, out)\n",
        "                pass\n",
    ),
    "s_coord does not wait for the children of one that is gone": (
        "s_coord-succession",
        "protocols/layers/rebuilt.py",
        "        if is_asked(me, j):\n",
        "        if is_asked(me, j) and me.parents[j] == me.number:\n",
    ),
    "s_coord does not report to another parent": (
        "s_coord-succession",
        "protocols/layers/tree.py",
        "            lose_parent(me, out)\n",
        "            pass\n",
    ),
    "s_coord's successor asks only those below it in the first tree": (
        "s_coord-succession",
        "protocols/layers/rebuilt.py",
        "    return bool(above == me.number or (above < 0 and coordinates(me) and j != me.number))\n",
        "    return bool(above == me.number)\n",
    ),
    "coord's successor goes on with the dead coordinator's numbers": (
        "coord-succession",
        "protocols/layers/succession.py",
        "        me.execution = me.number * REIGN\n",
        "        pass\n",
    ),
    "coord's successor does not begin what was running anew": (
        "coord-succession",
        "simulate/starts.py",
        "        return bool(sim.counts.started > 0)\n",
        "        return False\n",
    ),
    "train forgets which train was not confirmed": (
        "train-lossy",
        "protocols/layers/trains.py",
        "        me.unconfirmed = train\n",
        "        me.unconfirmed = NOTHING\n",
    ),
    "s_train takes a train in twice": (
        "s_train-lossy",
        "protocols/layers/trains.py",
        "                me.flags |= part\n",
        "                pass\n",
    ),
    "gsgc-local's controllers do not wait for their groups": (
        "gsgc-local",
        "protocols/gsgc_local.py",
        "    if me.complete == 0 and has_or_lost_all(me.W, me):\n",
        "    if me.complete == 0:\n",
    ),
    "timestamp does not wait for a sender it has not heard of": (
        "timestamp",
        "protocols/timestamp.py",
        "        least = min(least, me.have[column])\n",
        "        least = min(least, me.have[column] if me.have[column] else least)\n",
    ),
    "timestamp counts a NULL before the data that it follows": (
        "timestamp",
        "protocols/timestamp.py",
        "    if me.null_number[column] <= me.received[column]:\n",
        "    if me.null_number[column] >= 0:\n",
    ),
    "timestamp sends no NULL": (
        "timestamp",
        "protocols/timestamp.py",
        "        send(out, GROUP, NULL(me.column, tick(me, now), me.received[me.column]))\n",
        "        pass\n",
    ),
    "timestamp stamps two messages alike": (
        "timestamp",
        "protocols/contract/clocks.py",
        "    return max(reading_ps, last + 1)\n",
        "    return reading_ps // 100_000_000_000 + 1\n",
    ),
    "timestamp calls stable what is stamped one later": (
        "timestamp",
        "protocols/timestamp.py",
        "attached(me, column, number + 1, 0) <= frontier:\n",
        "attached(me, column, number, 0) <= frontier:\n",
    ),
    "timestamp takes acknowledgements from another view": (
        "timestamp-crash",
        "protocols/timestamp.py",
        "    if source != me.number and message.gone == me.gone:\n",
        "    if source != me.number:\n",
    ),
    "timestamp goes on about the messages of one that is gone": (
        "timestamp-crash",
        "protocols/timestamp.py",
        "column == me.column or (me.whole and me.null_number[column] != FROZEN)",
        "column == me.column or me.whole",
    ),
    "timestamp does not count a sender that it has only asked": (
        "timestamp-connect",
        "protocols/timestamp.py",
        "        me.have[column] = me.told\n",
        "        pass\n",
    ),
    "timestamp lets a receiver in that has gone again": (
        "timestamp-connect",
        "protocols/_connections.py",
        "    return bool(connection > me.closed[member] and connection > me.counted[member])\n",
        "    return bool(connection > me.counted[member])\n",
    ),
    "vector waits for all but one": (
        "vector",
        "frontier/tournament.py",
        "        least = min(tree[2 * at], tree[2 * at + 1])\n",
        "        least = max(tree[2 * at], tree[2 * at + 1])\n",
    ),
    "explicit does not ask again": (
        "explicit",
        "protocols/explicit.py",
        "                send(out, member, ASK(me.column))\n",
        "                pass\n",
    ),
    "transitive names what it has not taken up": (
        "transitive",
        "protocols/transitive.py",
        "        attach_number(me, column, number, other, me.taken[other])\n",
        "        attach_number(me, column, number, other, me.received[other] + 1)\n",
    ),
    "bimodal delivers what comes again": (
        "bimodal",
        "multicast/delivered.py",
        "    if has(me.got, message):\n",
        "    if False:\n",
    ),
    "bimodal asks nobody": (
        "bimodal",
        "protocols/bimodal.py",
        "    if any_wanted:\n",
        "    if False:\n",
    ),
    "bimodal's holders do not answer": (
        "bimodal",
        "protocols/bimodal.py",
        "    send(out, dest, REPAIR(message, asked_at))\n",
        "    pass\n",
    ),
    "bimodal passes no request on": (
        "bimodal",
        "protocols/bimodal.py",
        "            send(out, bufferer, FORWARD(message, dest, asked_at))\n",
        "            me.forwards -= 1\n",
    ),
    "bimodal lets go of a message after a round": (
        "bimodal",
        "multicast/buffer_policy.py",
        "        if me.ticks < me.since[message] + me.params.keep:\n",
        "        if False:\n",
    ),
    "bimodal calls stable what not everyone has": (
        "bimodal",
        "multicast/until_stable.py",
        "        if not has(me.W, member) and not has(me.out, member):\n",
        "        if member == 0 and not has(me.W, member):\n",
    ),
    "bimodal's bufferers are everyone": (
        "bimodal",
        "multicast/bufferers.py",
        "    return value * n < C\n",
        "    return value * n < C * n\n",
    ),
    "bimodal does not multicast again": (
        "bimodal",
        "protocols/bimodal.py",
        "        send(out, GROUP, RECAST(message.id))\n",
        "        me.recasts -= 1\n",
    ),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of the sources, with what Python has compiled: right for all files that stay as they were."""
    folder = tmp_path_factory.mktemp("sources") / "stablecast"
    shutil.copytree(SOURCE / "stablecast", folder, ignore=shutil.ignore_patterns("*.pyc.*"))
    return folder


def copy_package(sources: Path, folder: Path) -> None:
    """Put the files of the copy into another folder too; whoever changes one has to replace it."""
    shutil.copytree(sources, folder / "stablecast", copy_function=os.link)


@pytest.fixture(scope="module")
def nursery():
    """A process that runs the watcher on copies of the package, uncompiled."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-P", str(NURSERY)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:
        yield process
        process.stdin.close()


def watched(nursery: subprocess.Popen[str], folder: Path, protocol: str) -> tuple[int, str, str]:
    """Return the watcher's exit code, and what it printed and complained of."""
    print(f"{folder}\t{protocol}", file=nursery.stdin, flush=True)
    code = int(nursery.stdout.readline())
    return code, (folder / "out").read_text(), (folder / "err").read_text()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_kernel_is_noticed(name, nursery, sources, tmp_path):
    protocol, file, right, wrong = MUTATIONS[name]
    copy_package(sources, tmp_path)
    broken = tmp_path / "stablecast" / file
    text = broken.read_text()
    assert text.count(right) == 1, "the mutation no longer applies"
    broken.unlink()
    broken.write_text(text.replace(right, wrong))
    code, printed, complained = watched(nursery, tmp_path, protocol)
    assert code == 1, printed + complained
    assert "Traceback" not in complained, complained


@pytest.mark.parametrize(
    "protocol",
    [
        *("coordp", "fulldist", "train", "s_coordp", "s_train", "gsgc", "gsgc-local"),
        *("cubefulldist", "coord", "fulldist-lossy", "s_coord", "train-lossy", "s_train-lossy"),
        *("gsgc-crash", "cubefulldist-crash", "coord-crash", "fulldist-crash", "s_coord-crash"),
        *("coord-succession", "s_coord-succession"),
        *("timestamp", "timestamp-crash", "vector", "explicit", "transitive", "bimodal"),
    ],
)
def test_the_unbroken_kernels_are_not_complained_about(protocol, nursery, sources, tmp_path):
    copy_package(sources, tmp_path)
    code, printed, complained = watched(nursery, tmp_path, protocol)
    assert code == 0, printed + complained
    assert str(tmp_path) in printed, "the watcher ran on something else than the copy"
