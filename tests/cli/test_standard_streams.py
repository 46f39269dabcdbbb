"""Reading lines and writing texts without standing still."""

import asyncio
import os
from pathlib import Path

import pytest

from stablecast.cli.standard_streams import Output, read_lines
from stablecast.errors import InvalidInput
from stablecast.words import printable


async def lines_of(file, longest=100):
    return [line async for line in read_lines(file, longest=longest)]


def test_lines_come_from_a_pipe_in_pieces():
    async def work():
        read, write = os.pipe()
        reading = asyncio.create_task(lines_of(read))
        for piece in (b"on", b"e\ntwo\n\nth", b"ree"):
            os.write(write, piece)
            await asyncio.sleep(0)
        os.close(write)
        found = await reading
        os.close(read)
        return found

    assert asyncio.run(work()) == [b"one", b"two", b"", b"three"]


@pytest.mark.parametrize(("content", "expected"), [(b"", []), (b"a\nb", [b"a", b"b"]), (b"a\n", [b"a"])])
def test_lines_come_from_a_plain_file(tmp_path, content, expected):
    (tmp_path / "lines").write_bytes(content)
    with (tmp_path / "lines").open("rb") as file:
        assert asyncio.run(lines_of(file.fileno())) == expected


def test_no_input_and_an_empty_device_have_no_lines():
    assert asyncio.run(lines_of(None)) == []
    with Path(os.devnull).open("rb") as file:
        assert asyncio.run(lines_of(file.fileno())) == []


@pytest.mark.parametrize("content", [b"ok\n" + b"x" * 101 + b"\n", b"ok\n" + b"x" * 101])
def test_a_line_over_the_limit_is_refused_by_its_number(tmp_path, content):
    (tmp_path / "lines").write_bytes(content)
    with (tmp_path / "lines").open("rb") as file, pytest.raises(InvalidInput, match=r"line 2 .* 100 bytes"):
        asyncio.run(lines_of(file.fileno()))


def test_texts_are_written_in_their_order():
    async def work():
        read, write = os.pipe()
        output = Output(write, on_broken=lambda: None)
        output.put("one\n")
        await output.put("two\n")
        await output.close(10)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            return file.read()

    assert asyncio.run(work()) == b"one\ntwo\n"


def test_a_reader_that_is_gone_is_told_once_and_writing_goes_on_into_nothing():
    async def work():
        broken = []
        read, write = os.pipe()
        os.close(read)
        output = Output(write, on_broken=lambda: broken.append(1))
        await output.put("one\n")
        await output.put("two\n")
        await output.close(10)
        os.close(write)
        return broken

    assert asyncio.run(work()) == [1]


def test_a_reader_that_rests_keeps_nobody_waiting_at_the_end():
    async def work():
        read, write = os.pipe()
        output = Output(write, on_broken=lambda: None)
        output.put("x" * (1 << 20))
        await output.close(0.05)
        os.close(read)

    asyncio.run(work())


def test_control_characters_are_written_out():
    assert printable("a\x1b[2J\tß\x00") == "a\\x1b[2J\tß\\x00"
