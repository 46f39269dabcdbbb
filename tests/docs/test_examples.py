"""Every example of the documentation runs and prints what the page says; every link leads somewhere.

A page is run block by block, in order, in a folder of its own:

- ``python`` blocks with ``>>>`` are compared with their output, others are executed;
- ``console`` blocks run each ``$ stablecast`` command and compare what it prints, where ``...`` stands for
  anything; a ``$ echo $?`` behind it is compared with its exit code, which otherwise has to be 0.  Blocks
  with any other command are not run, and so may not show output;
- ``toml`` blocks that begin with a comment ``# NAME.toml`` are written to that file, and so is any block
  behind ``<!-- saved as: PATH -->``;
- a block behind ``<!-- not run: WHY -->`` is not run;
- a block behind ``<!-- part of: PATH -->`` is a part of that file, and is not run.

The files of ``docs/examples`` lie in the folder in which a page is run.  Where blocks speak of a server at
its usual port, such as ``localhost:6379``, a real one is started elsewhere, and its address takes that place.
"""

import contextlib
import dataclasses
import doctest
import inspect
import io
import re
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from stablecast.cli.analyze import analyze_command
from stablecast.cli.audit import audit_command
from stablecast.cli.collect import collect_command
from stablecast.cli.dashboard import dashboard_command
from stablecast.cli.holdback import holdback_command
from stablecast.cli.lens import lens_command
from stablecast.cli.main import main
from stablecast.cli.top import top_command
from stablecast.cli.trim import trim_command
from stablecast.cli.watch import watch_command
from stablecast.pipeline.schema import COLUMNS
from stablecast.simulate.options import all_options
from tests.holdback import servers

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(ROOT.glob("*.md")) + sorted(DOCS.rglob("*.md"))
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
NOT_RUN = re.compile(r"<!-- not run: (takes minutes|needs a cluster) -->")
TOML_FILE = re.compile(r"# (\w+\.toml)\n")
ON_SPARK = re.compile(
    r"^\$ stablecast (sweep|analyze|watch)|\bspark_session\(|\bSparkSession\.builder\b", re.MULTILINE
)
SAVED = re.compile(r"<!-- saved as: (\S+) -->")
PART = re.compile(r"<!-- part of: (\S+) -->")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    mark: str
    """The line before it, where a block may be called a part of a file or not to be run."""

    @property
    def whole(self) -> str | None:
        """The file that it is a part of."""
        found = PART.fullmatch(self.mark)
        return found and found[1]


SERVERS = {
    "localhost:6379": servers.redis_server,
    "localhost:4222": servers.nats_server,
    "localhost:5432": servers.postgres_server,
    "localhost:9092": servers.kafka_mock,
}


@contextlib.contextmanager
def with_servers(blocks: list[Block]):
    """Give the blocks with the addresses of servers that were started for them."""
    with contextlib.ExitStack() as started:
        for usual, server in SERVERS.items():
            if any(usual in block.text for block in blocks if block.language in ("python", "console")):
                folder = started.enter_context(tempfile.TemporaryDirectory())
                place = f"127.0.0.1:{started.enter_context(server(Path(folder) / 'data')).port}"
                blocks = [dataclasses.replace(one, text=one.text.replace(usual, place)) for one in blocks]
        yield blocks


@dataclass(frozen=True)
class Command:
    arguments: list[str]
    output: str
    exit_code: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    blocks = []
    for found in FENCE.finditer(text):
        before = text[: found.start()].rstrip().splitlines()
        line = text.count("\n", 0, found.start()) + 1
        blocks.append(Block(found[1], found[2], line, before[-1].strip() if before else ""))
    return blocks


def commands_of(text: str) -> list[Command] | None:
    """Return a console block's commands with what they print; None if it has others than stablecast's."""
    commands: list[Command] = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        typed, _, output = part.replace("\\\n", " ").partition("\n")
        if typed == "echo $?" and commands:
            commands[-1] = Command(commands[-1].arguments, commands[-1].output, int(output))
        elif typed.startswith("stablecast "):
            commands.append(Command(shlex.split(typed)[1:], output, 0))
        else:
            return None
    return commands


def run_here(arguments: list[str], folder: Path) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return code, out.getvalue() + without_remarks(err.getvalue())


def without_remarks(text: str) -> str:
    """Leave out what is said about compiling and progress, which depends on earlier runs."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("# "))


def complaint_about_command(command: Command, folder: Path) -> str:
    code, printed = run_here(command.arguments, folder)
    typed = shlex.join(["stablecast", *command.arguments])
    if code != command.exit_code:
        return f"{typed}: exit code {code}, not {command.exit_code}\n{printed}"
    if command.output and not doctest.OutputChecker().check_output(command.output, printed, doctest.ELLIPSIS):
        return f"{typed}: printed\n{printed}"
    return ""


def complaint_about_python(block: Block, folder: Path) -> str:
    with contextlib.chdir(folder):
        if ">>>" not in block.text:
            exec(compile(block.text, f"line {block.line}", "exec"), {"__name__": "__example__"})
            return ""
        test = doctest.DocTestParser().get_doctest(block.text, {}, "example", None, block.line)
        said = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        return said.getvalue() if runner.run(test, out=said.write).failed else ""


def complaints_about(block: Block, folder: Path) -> list[str]:
    if NOT_RUN.fullmatch(block.mark) or block.whole:
        return []
    named = TOML_FILE.match(block.text)
    if block.language == "toml" and named:
        (folder / named[1]).write_text(block.text, encoding="utf-8")
    if saved := SAVED.fullmatch(block.mark):
        (folder / saved[1]).parent.mkdir(parents=True, exist_ok=True)
        (folder / saved[1]).write_text(block.text, encoding="utf-8")
        if saved[1].endswith(".py"):
            return []
    if block.language == "python":
        return [complaint_about_python(block, folder)]
    if block.language == "console":
        commands = commands_of(block.text)
        if commands is None:
            shown = [line for line in block.text.splitlines() if not line.startswith("$ ")]
            return [f"output that is not checked: {shown}"] if shown else []
        return [complaint_about_command(command, folder) for command in commands]
    return []


def runs_spark(page: Path) -> bool:
    run = (block for block in blocks_of(page) if not NOT_RUN.fullmatch(block.mark))
    return any(ON_SPARK.search(block.text) for block in run)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.xdist_group("spark")] * runs_spark(page)) for page in PAGES],
    ids=NAMES,
)
def test_the_examples_of_a_page_do_what_it_says(page, tmp_path, request, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # pages show what is not cut to a terminal
    blocks = blocks_of(page)
    if runs_spark(page):
        request.getfixturevalue("spark")
    for example in (DOCS / "examples").glob("*.py"):
        shutil.copy(example, tmp_path)
    with with_servers(blocks) as blocks:
        said = [
            f"{page.name}, line {block.line}: {complaint}"
            for block in blocks
            for complaint in complaints_about(block, tmp_path)
            if complaint
        ]
    assert not said, "\n".join(said)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_part_of_a_file_is_what_the_file_says(page):
    parts = [block for block in blocks_of(page) if block.whole]
    texts = {block.whole: (page.parent / block.whole).read_text(encoding="utf-8") for block in parts}
    assert not [block.line for block in parts if block.text not in texts[block.whole]]


def anchors_of(page: Path) -> set[str]:
    """Return the names of a page's headings, as the usual renderers make them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_relative_link_leads_to_a_file_and_a_heading(page):
    lost = []
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            lost.append(link)
    assert not lost


def test_every_page_is_on_the_map():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = {(DOCS / link.partition("#")[0]).resolve() for link in LINK.findall(text)}
    missing = [name for page, name in zip(PAGES, NAMES, strict=True) if DOCS in page.parents]
    missing = [name for name in missing if (ROOT / name) not in listed and name != "docs/index.md"]
    assert not missing


@pytest.mark.parametrize(
    "command",
    [
        analyze_command,
        watch_command,
        holdback_command,
        collect_command,
        trim_command,
        audit_command,
        lens_command,
        top_command,
        dashboard_command,
    ],
)
def test_every_option_of_a_command_is_on_its_page(command):
    text = (DOCS / f"{command.__name__.removesuffix('_command')}.md").read_text(encoding="utf-8")
    names = {"as_json": "json", "mapped": "map", "constants": "set", "kinds": "kind"}
    options = [names.get(name, name).replace("_", "-") for name in inspect.signature(command).parameters][1:]
    assert options
    missing = [name for name in options if not re.search(rf"`--{name}[ `]", text)]
    assert not missing


def test_every_declared_option_of_a_run_is_on_its_page():
    text = (DOCS / "simulate.md").read_text(encoding="utf-8")
    missing = [option.flag for option in all_options().values() if f"`{option.flag}`" not in text]
    assert not missing


def test_the_page_of_sweeps_lists_every_column_with_its_type():
    words = {"int64": "long", "string": "string", "double": "double", "bool": "boolean"}
    rows = re.findall(r"^\| (\w[\w →]*) \| (`.*`) \|$", (DOCS / "sweep.md").read_text("utf-8"), re.MULTILINE)
    listed = {column: kind for kind, names in rows for column in re.findall(r"`(\w+)`", names)}
    for column, kind in COLUMNS.items():
        assert listed.get(column) == words.get(str(kind), listed[column]), column


def test_the_table_of_mutations_lists_what_is_tried(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tests"))
    from test_mutations import MUTATIONS

    rows = re.findall(
        r"^\| (.+?) \| `([\w-]+)` \| `(\S+)` \|",
        (DOCS / "testing.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert rows == [(name, protocol, file) for name, (protocol, file, _, _) in MUTATIONS.items()]
