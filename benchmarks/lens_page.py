"""How soon Chromium shows a page of `stablecast lens`, and how long its frames take while one zooms and pans.

    python -m benchmarks.lens_page [PAGE.html] [--seconds 3]

Without a page it makes one of a simulated run with some 100,000 events: s_coordp among 40 members with
lost data.

The page is opened as a file in a new headless browser without a GPU, so all is drawn by the processor.
Wheel events are dispatched to the diagram, one a frame: into the run and out of it again, then along most
of it, and then along it at the zoom at which most transmissions are drawn one by one. A frame's time is
from one animation frame to the next; the browser shows 60 a second, so 16.7 ms is the least. The time of
drawing is that of the page's own code in a frame.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
STABLECAST = (sys.executable, "-m", "stablecast.cli.main")
SIMULATE = (
    *("simulate", "s_coordp", "--wire", "--degree", "3", "--height", "3", "--seed", "1"),
    *("--messages", "15", "--rate-per-s", "100", "--data-loss", "0.05"),
)
DRIVE = """
async ([what, seconds]) => {
  const canvas = document.getElementById('diagram'), box = canvas.getBoundingClientRect();
  const frames = [], draws = page.frames.length;
  page.frames.length = 0;
  const turn = (k) => {
    const way = { zoom: Math.sin(k / 25) > 0 ? -40 : 40, pan: 0 }[what];
    const event = { deltaY: way ?? 0, deltaX: what === 'zoom' ? 0 : 30 * (Math.sin(k / 60) > 0 ? 1 : -1) };
    canvas.dispatchEvent(new WheelEvent('wheel', { ...event, clientX: box.left + box.width * 0.4,
      clientY: box.top + 200, bubbles: true, cancelable: true }));
  };
  const next = () => new Promise(requestAnimationFrame);
  let before = await next();
  const end = before + 1000 * seconds;
  for (let k = 0; before < end; k++) {
    turn(k);
    const now = await next();
    frames.push(now - before);
    before = now;
  }
  return { frames, draws: page.frames.slice(), arrows: page.seen.arrows.length, dense: page.seen.dense };
}
"""
FULLEST = """() => {
  // The longest window from the run's middle in which transmissions are still drawn one by one.
  const { run, view } = page;
  for (let part = 1; part > 1e-6; part *= 0.9) {
    setWindow(run.span / 2, run.span / 2 + part * run.span);
    const frame = frameOf(document.getElementById('diagram'), run, page.looked);
    if (!whatIsSeen(run, view, frame).dense) return part;
  }
}"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("page", type=Path, nargs="?")
    options.add_argument("--seconds", type=float, default=3)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = given.page or made(Path(folder))
        print(json.dumps(measured(page, given.seconds), indent=2))


def made(folder: Path) -> Path:
    """Simulate a run and make its page, and say how long the latter took."""
    run, page = folder / "run.parquet", folder / "page.html"
    subprocess.run([*STABLECAST, *SIMULATE, "--trace", str(run)], check=True, stdout=subprocess.DEVNULL)
    begin = time.perf_counter()
    subprocess.run([*STABLECAST, "lens", str(run), "--out", str(page)], check=True)
    print(f"the page took {time.perf_counter() - begin:.1f} s to make and has {page.stat().st_size:,} bytes")
    return page


def measured(file: Path, seconds: float) -> dict[str, object]:
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(OPTIONS))
        page = browser.new_page(viewport={"width": 1400, "height": 860})
        begin = time.perf_counter()
        page.goto(file.absolute().as_uri())
        page.wait_for_selector("html[data-lens=ready]", state="attached")
        page.evaluate("() => new Promise(requestAnimationFrame)")
        told: dict[str, object] = {"opened_s": round(time.perf_counter() - begin, 3)}
        told["events"] = page.evaluate("page.run.arrow_sent.length + page.run.point_time.length")
        told["whole run, zooming"] = summed(page.evaluate(DRIVE, ["zoom", seconds]))
        page.evaluate("setWindow(0, page.run.span * 0.6)")
        told["most of the run, panning"] = summed(page.evaluate(DRIVE, ["pan", seconds]))
        page.evaluate(FULLEST)
        told["most arrows, panning"] = summed(page.evaluate(DRIVE, ["pan", seconds]))
        browser.close()
    return told


def summed(run: dict[str, list[float]]) -> dict[str, object]:
    frames, draws = sorted(run["frames"]), sorted(run["draws"])

    def at(values: list[float], part: float) -> float:
        return round(values[min(len(values) - 1, int(part * len(values)))], 1)

    return {
        "frames": len(frames),
        "frame_ms p50/p95/most": [at(frames, 0.5), at(frames, 0.95), round(frames[-1], 1)],
        "draw_ms p50/p95/most": [at(draws, 0.5), at(draws, 0.95), round(draws[-1], 1)],
        "arrows at the end": run["arrows"],
    }


if __name__ == "__main__":
    main()
