"""Run one simulation in this process, and print as JSON what it took.

`python -m benchmarks.one_run s_coordp tree degree=3 height=5 [senders=50]`
"""

import json
import resource
import sys
import time


def main(protocol: str, name: str, *options: str) -> None:
    given = {key: json.loads(value) for key, value in (option.split("=") for option in options)}
    senders = given.pop("senders", None)
    preset = "links-only" if name == "random-graph" else "lan1997"
    began = time.perf_counter()
    from stablecast.simulate import Setup, costs, simulate, topology

    imported = time.perf_counter()
    network = topology(name, **given)
    result = simulate(Setup(protocol=protocol, topology=network, costs=costs(preset), senders=senders))
    ended = time.perf_counter()
    report = {
        "import_s": imported - began,
        "prepare_s": ended - imported - result.wall_s,
        "run_s": result.wall_s,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "members": result.members,
        "hops": result.hops["total"],
        "completed": result.completed,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
