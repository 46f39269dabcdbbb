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
        "        take_minimum(me.gathered[slot], array)\n",
        "        pass\n",
    ),
    "coordp drops a member": (
        "coordp",
        "protocols/coordp.py",
        "    if me.reg[ANSWERED] < me.group_size:\n",
        "    if me.reg[ANSWERED] < me.group_size - 1:\n",
    ),
    "coordp forgets its own array": (
        "coordp",
        "protocols/coordp.py",
        "me.received if message.kind == START else message.array",
        "me.received + 64 if message.kind == START else message.array",
    ),
    "fulldist finishes one INFO early": (
        "fulldist",
        "protocols/fulldist.py",
        "    if me.reg[THROUGH_COUNT + slot] == me.group_size:\n",
        "    if me.reg[THROUGH_COUNT + slot] == me.group_size - 1:\n",
    ),
    "fulldist keeps the counts of the last execution": (
        "fulldist",
        "protocols/fulldist.py",
        "    _empty(me, execution % 2)\n",
        "    pass\n",
    ),
    "train passes on without its own minimum": (
        "train",
        "protocols/train.py",
        "        take_minimum(me.gathered[0], me.received)\n",
        "        pass\n",
    ),
    "train's first member does not learn": (
        "train",
        "protocols/train.py",
        "            declare_stable(me, out, message.execution, me.gathered[0])\n",
        "            pass\n",
    ),
    "s_coordp does not wait for its last child": (
        "s_coordp",
        "protocols/s_coordp.py",
        "    me.reg[MISSING] = 1 + me.place[CHILDREN] - me.reg[GONE_COUNT]\n",
        "    me.reg[MISSING] = max(1, me.place[CHILDREN])\n",
    ),
    "s_coordp reports without its own array": (
        "s_coordp",
        "protocols/s_coordp.py",
        "            gather(me, 0, GATHERED, me.received)\n",
        "            pass\n",
    ),
    "s_train takes the last array for the minimum": (
        "s_train",
        "protocols/contract/kernels.py",
        "        take_minimum(me.gathered[slot], array)\n",
        "        copy_into(me.gathered[slot], array)\n",
    ),
    "s_train does not wait for its children": (
        "s_train",
        "protocols/s_train.py",
        "    me.reg[MISSING] = 1 + (me.place[CHILDREN] > 0)\n",
        "    me.reg[MISSING] = 1\n",
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
        "        copy_into(me.stable, array - me.reg[0] % 2)\n",
    ),
    "stability changes without being declared": (
        "train",
        "protocols/contract/kernels.py",
        "        out.marks[ROSE] = 1\n",
        "        pass\n",
    ),
    "the window takes a gap for a prefix": (
        "coordp",
        "frontier/window.py",
        "    while ahead[column, (front + 1) % size]:\n",
        "    front = seq - 1\n    while ahead[column, (front + 1) % size]:\n",
    ),
    "the fast engine's serial routers forget that they are busy": (
        "coordp",
        "simulate/wires.py",
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
    "gsgc enters a round without itself": (
        "gsgc",
        "protocols/gsgc.py",
        "        _begin_round(me)\n    _take_in(me, message)\n",
        "        copy_into(me.own, message.array)\n    _take_in(me, message)\n",
    ),
    "gsgc takes the last array for the minimum": (
        "gsgc",
        "protocols/gsgc.py",
        "    take_minimum(me.own[:m], message.array)\n",
        "    copy_into(me.own[:m], message.array)\n",
    ),
    "gsgc does not wait for everyone": (
        "gsgc",
        "frontier/sets.py",
        "        if array[at + k] != (1 << min(BITS, n - k * BITS)) - 1:\n",
        "        if array[at + k] < 1 << (min(BITS, n - k * BITS) - 1):\n",
    ),
    "cubefulldist forgets a neighbour's minimum": (
        "cubefulldist",
        "protocols/cubefulldist.py",
        "            me.own[c] = min(me.own[c], message.array[c])\n",
        "            pass\n",
    ),
    "cubefulldist sets M to R after merging": (
        "cubefulldist",
        "protocols/cubefulldist.py",
        "        me.own[c] = min(me.own[c], me.received[c]) if me.reg[STARTED] else me.received[c]\n",
        "        me.own[c] = me.received[c]\n",
    ),
    "cubefulldist keeps G into the next round": (
        "cubefulldist",
        "protocols/cubefulldist.py",
        "        me.own[at + k] = me.own[dead + k] if dead < me.own.size else 0\n",
        "        pass\n",
    ),
    "cubefulldist leaves out the closing message": (
        "cubefulldist",
        "protocols/cubefulldist.py",
        "    me.reg[ITERATION] += 1\n    _tell_neighbours(me, now, out)\n    columns",
        "    columns",
    ),
    "cubefulldist does not answer for the last round": (
        "cubefulldist",
        "protocols/cubefulldist.py",
        "            _answer_with_last_round(me, message.source, out)\n",
        "            pass\n",
    ),
    "coord counts an answer twice": (
        "coord",
        "protocols/_resending.py",
        "    if is_in(me, number, j):\n        return False\n",
        "",
    ),
    "fulldist does not answer a repeat": (
        "fulldist-lossy",
        "protocols/fulldist.py",
        "        send_received(out, INFO, message.source, message.execution)\n",
        "        pass\n",
    ),
    "s_coord does not report again": (
        "s_coord",
        "protocols/s_coordp.py",
        "    if me.reg[PHASE] == REPORTED and resends(me):\n        _report(me, out)\n",
        "",
    ),
    "gsgc-local's controllers do not wait for their groups": (
        "gsgc-local",
        "protocols/gsgc_local.py",
        "    if not me.reg[DONE] and _knows_local_group(me):\n",
        "    if not me.reg[DONE]:\n",
    ),
    "timestamp does not wait for a sender it has not heard of": (
        "timestamp",
        "protocols/timestamp.py",
        "        least = min(least, me.reg[HAVE + column])\n",
        "        least = min(least, max(me.reg[HAVE + column], 1) if me.reg[HAVE + column] else least)\n",
    ),
    "timestamp counts a NULL before the data that it follows": (
        "timestamp",
        "protocols/timestamp.py",
        "    if me.reg[_null_number(me) + column] <= me.received[column]:\n",
        "    if me.reg[_null_number(me) + column] >= 0:\n",
    ),
    "timestamp sends no NULL": (
        "timestamp",
        "protocols/timestamp.py",
        "        send_numbers(out, NULL, GROUP, column + 1, _tick(me, now), me.received[column])\n",
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
        "    elif message.execution == me.reg[VIEW] + 1:\n",
        "    else:\n",
    ),
    "timestamp goes on about the messages of one that is gone": (
        "timestamp-crash",
        "protocols/timestamp.py",
        "        frozen = me.reg[_null_number(me) + column] == FROZEN\n",
        "        frozen = False\n",
    ),
    "vector waits for all but one": (
        "vector",
        "frontier/tournament.py",
        "        least = min(tree[start + 2 * at], tree[start + 2 * at + 1])\n",
        "        least = max(tree[start + 2 * at], tree[start + 2 * at + 1])\n",
    ),
    "explicit does not ask again": (
        "explicit",
        "protocols/explicit.py",
        "                send_numbers(out, ASK, member, column + 1, 0, 0)\n",
        "                pass\n",
    ),
    "transitive names what it has not taken up": (
        "transitive",
        "protocols/transitive.py",
        "        attach_number(me, column, number, other, me.own[other])\n",
        "        attach_number(me, column, number, other, me.received[other] + 1)\n",
    ),
    "bimodal delivers what comes again": (
        "bimodal",
        "protocols/bimodal.py",
        "    if has(me.got, message):\n",
        "    if False:\n",
    ),
    "bimodal asks nobody": (
        "bimodal",
        "protocols/bimodal.py",
        "        me.wanted[k] = delivered[k] & ~me.got[k] & ~me.asked[k]\n",
        "        me.wanted[k] = 0\n",
    ),
    "bimodal's holders do not answer": (
        "bimodal",
        "protocols/bimodal.py",
        "    send(out, dest, REPAIR(message))\n",
        "    pass\n",
    ),
    "bimodal passes no request on": (
        "bimodal",
        "protocols/bimodal.py",
        "        if bufferer != NOBODY:\n",
        "        if False:\n",
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
        "        if not has(me.W, member) and not has(me.gone, member):\n",
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


def copy_package(folder: Path) -> None:
    """Copy the sources, with what Python has compiled: right for all files that stay as they were."""
    being_written = shutil.ignore_patterns("*.pyc.*")
    shutil.copytree(SOURCE / "stablecast", folder / "stablecast", ignore=being_written)


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
def test_a_broken_kernel_is_noticed(name, nursery, tmp_path):
    protocol, file, right, wrong = MUTATIONS[name]
    copy_package(tmp_path)
    broken = tmp_path / "stablecast" / file
    text = broken.read_text()
    assert text.count(right) == 1, "the mutation no longer applies"
    broken.write_text(text.replace(right, wrong))
    code, printed, complained = watched(nursery, tmp_path, protocol)
    assert code == 1, printed + complained
    assert "Traceback" not in complained, complained


@pytest.mark.parametrize(
    "protocol",
    [
        *("coordp", "fulldist", "train", "s_coordp", "s_train", "gsgc", "gsgc-local"),
        *("cubefulldist", "coord", "fulldist-lossy", "s_coord"),
        *("timestamp", "timestamp-crash", "vector", "explicit", "transitive", "bimodal"),
    ],
)
def test_the_unbroken_kernels_are_not_complained_about(protocol, nursery, tmp_path):
    copy_package(tmp_path)
    code, printed, complained = watched(nursery, tmp_path, protocol)
    assert code == 0, printed + complained
    assert str(tmp_path) in printed, "the watcher ran on something else than the copy"
