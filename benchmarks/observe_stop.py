"""How soon ``top`` and the dashboard name a member that is stopped, asked at each of the others.

    python -m benchmarks.observe_stop [--members 8] [--load-per-s 50] [--json]

It starts so many processes, each a member that serves its metrics.  For every member but the one that is
stopped it opens the screen of ``top`` (headless) and the page in Chromium, stops the last process with
SIGSTOP, and waits until both show a state of it that is not "ok"; then the process goes on.  Seconds are from
the signal until a look at the screen, and at the page, shows it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import statistics
import sys
import time
from typing import Any

from stablecast.live.access import Access
from stablecast.observe.dashboard import Dashboard
from stablecast.observe.follow import Follower
from stablecast.observe.lens import Lens
from stablecast.observe.place import open_place
from stablecast.observe.top import Top

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
PATIENCE_S = 10.0
LOOK_S = 0.02
MEMBER = """
import asyncio, json, sys
import stablecast

async def read(group):
    async for _ in group.batches():
        pass

async def main(name, seeds, load):
    async with stablecast.join("orders", member=name, seeds=seeds, metrics="127.0.0.1:0") as group:
        metrics = "%s:%d" % group.metrics_address
        print(json.dumps({"name": name, "address": group.address, "metrics": metrics}), flush=True)
        reading = asyncio.create_task(read(group))
        while True:
            if not load:
                await asyncio.sleep(3600)
            await group.send(bytes(200))
            await asyncio.sleep(1 / load)

asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3])))
"""


async def start(name: str, seeds: list[str], load: float) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MEMBER, name, json.dumps(seeds), str(load)), stdout=asyncio.subprocess.PIPE
    )


async def told(process: asyncio.subprocess.Process) -> dict[str, str]:
    assert process.stdout is not None
    return json.loads(await process.stdout.readline())


async def until(condition: Any) -> float:
    """Return the time at which a condition comes to hold."""
    end = time.monotonic() + PATIENCE_S
    while not await condition():
        if time.monotonic() > end:
            return float("inf")
        await asyncio.sleep(LOOK_S)
    return time.monotonic()


async def one(
    metrics: str, victim: asyncio.subprocess.Process, name: str, browser: Any
) -> tuple[float, float]:
    """Return the seconds until the screen and the page at one member have named the one that is stopped."""
    follower, seen_by_page = Follower(open_place(metrics)), Follower(open_place(metrics))
    await asyncio.gather(follower.first(), seen_by_page.first())
    dashboard = Dashboard(seen_by_page, Access(is_local=True), Lens(None))
    runner, port = await dashboard.serve("127.0.0.1", 0)
    following = asyncio.create_task(dashboard.hub.run())
    page = await browser.new_page()
    await page.goto(f"http://127.0.0.1:{port}/")
    app = Top(follower)
    async with app.run_test(size=(120, 40)):

        async def is_calm() -> bool:
            cells = app._cells.get(name)
            return cells is not None and cells[1] == "ok" and await page.locator("tr.trouble").count() == 0

        async def screen_names_it() -> bool:
            return name in app._cells and app._cells[name][1] != "ok"

        async def page_names_it() -> bool:
            return await page.locator(f'tr.trouble[data-name="{name}"]').count() > 0

        await until(is_calm)
        os.kill(victim.pid, signal.SIGSTOP)
        began = time.monotonic()
        try:
            found = await asyncio.gather(until(screen_names_it), until(page_names_it))
        finally:
            os.kill(victim.pid, signal.SIGCONT)
        await until(is_calm)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await page.close()
    dashboard.hub.end()
    await runner.cleanup()
    await asyncio.gather(follower.place.close(), seen_by_page.place.close())
    return found[0] - began, found[1] - began


async def measure(members: int, load: float) -> dict[str, dict[str, float]]:
    from playwright.async_api import async_playwright

    path = next(filter(None, map(shutil.which, NAMES)))
    first = await start("m1", [], load)
    processes, found = [first], [await told(first)]
    try:
        for k in range(2, members + 1):
            processes.append(await start(f"m{k}", [found[0]["address"]], load))
        found += [await told(process) for process in processes[1:]]
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=path, args=OPTIONS)
            times = {}
            for at in found[:-1]:
                screen, page = await one(at["metrics"], processes[-1], found[-1]["name"], browser)
                times[at["name"]] = {"top_s": screen, "page_s": page}
            await browser.close()
        return times
    finally:
        for process in processes:
            process.kill()
        await asyncio.gather(*(process.wait() for process in processes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--load-per-s", type=float, default=0.0, help="messages a second of each member")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    times = asyncio.run(measure(given.members, given.load_per_s))
    if given.json:
        print(json.dumps({"members": given.members, "load_per_s": given.load_per_s, "asked_at": times}))
        return
    for name, one_of in times.items():
        print(f"asked at {name}: top {one_of['top_s']:.2f} s, page {one_of['page_s']:.2f} s")
    for what in ("top_s", "page_s"):
        values = [one_of[what] for one_of in times.values()]
        print(f"{what[:-2]}: median {statistics.median(values):.2f} s, most {max(values):.2f} s")


if __name__ == "__main__":
    main()
