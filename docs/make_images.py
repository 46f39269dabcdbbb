"""Draw the pictures of the documentation from fresh simulations: ``python docs/make_images.py``."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from stablecast.papers.hierarchical.theory import PAPER_TABLE_3, PROTOCOLS
from stablecast.simulate import Setup, simulate, topology

FOLDER = Path(__file__).parent / "images"
# Okabe and Ito's palette, told apart by people with any colour vision; markers help in print.
STYLE = {
    "train": ("#D55E00", "s"),
    "coordp": ("#0072B2", "o"),
    "fulldist": ("#56B4E9", "x"),
    "s_train": ("#E69F00", "D"),
    "s_coordp": ("#009E73", "^"),
}
RANDOM_TREES = 10


def round_trip_ms(protocol: str, **shape: int) -> float:
    """Return the round-trip time at the first member on one network."""
    name = "random-tree" if "members" in shape else "tree"
    built = topology(name, **shape)
    result = simulate(Setup(protocol=protocol, topology=built, tracked=min(16, built.member_count)))
    assert result.rtt_root_us is not None
    return result.rtt_root_us / 1000


def draw_round_trips(axes: Axes) -> None:
    """Figures 9 and 10 of the hierarchical paper: trees of height 5, and random trees of the same sizes."""
    sizes = sorted((n, degree, fill) for (degree, fill), n in PAPER_TABLE_3.items())
    for protocol in sorted(PROTOCOLS, key=list(STYLE).index):
        colour, marker = STYLE[protocol]
        times = [round_trip_ms(protocol, degree=b, height=5, fill=z) for _, b, z in sizes]
        dashes = "--" if protocol == "fulldist" else "-"  # it lies on coordp's line
        axes.plot(
            [n for n, _, _ in sizes], times, dashes, color=colour, marker=marker, label=protocol, zorder=3
        )
        for n, b, _ in sizes:
            random = [
                round_trip_ms(protocol, members=n, degree=b, height=5, seed=s) for s in range(RANDOM_TREES)
            ]
            axes.plot([n] * len(random), random, ".", color=colour, alpha=0.35, markersize=4)
    axes.set(
        xlabel="members n",
        ylabel="round-trip time at the first member [ms]",
        yscale="log",
        title="How long one execution takes (100 Mbps LAN of 1997, arrays of 4n bytes)",
    )
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(
        title="lines: trees of height 5\ndots: random trees", loc="center left", bbox_to_anchor=(1, 0.5)
    )


def lens_page(folder: Path) -> Path:
    """Make the page that lens.md begins with, in a folder."""
    command = (sys.executable, "-m", "stablecast.cli.main")
    size = ("--degree", "2", "--height", "2", "--senders", "3", "--messages", "5", "--rate-per-s", "100")
    trace = ("--data-loss", "0.1", "--seed", "1", "--trace", "run.parquet", "--wire")
    subprocess.run([*command, "simulate", "s_coordp", *size, *trace], cwd=folder, check=True)
    subprocess.run([*command, "lens", "run.parquet", "--message", "m0/5"], cwd=folder, check=True)
    return folder / "lens.html"


def photograph_lens(file: Path) -> None:
    """Take a picture of a run's page in Chromium."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 760}, reduced_motion="reduce")
        page.goto(lens_page(Path(folder)).as_uri())
        page.wait_for_selector("html[data-lens=ready]", state="attached")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.screenshot(path=str(file))
        browser.close()


def main() -> None:
    """Draw every picture."""
    FOLDER.mkdir(exist_ok=True)
    photograph_lens(FOLDER / "lens.png")
    figure, axes = plt.subplots(figsize=(9, 4.6), layout="constrained")
    draw_round_trips(axes)
    figure.savefig(FOLDER / "round-trip-times.png", dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    main()
