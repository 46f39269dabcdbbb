"""Files that only the session's Spark can open, as Arrow has them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from spark_lake import lake_at

from stablecast.analysis.reading.addresses import can_reach, split_address
from stablecast.errors import InvalidInput
from stablecast.pipeline import hadoop_files
from stablecast.pipeline.analysis.failures import told_in_one_line
from stablecast.pipeline.hadoop_files import SessionSystems


@pytest.fixture
def lake(spark, tmp_path):
    return lake_at(spark, tmp_path)


@pytest.fixture
def files(spark, lake):
    system, path = SessionSystems(spark)(lake)
    assert system.type_name == "py::hadoop"
    return fs.SubTreeFileSystem(path, system)


def listed(files, folder="", **how):
    return {each.path: (each.type, each.size) for each in files.get_file_info(fs.FileSelector(folder, **how))}


def test_what_is_written_can_be_read_from_any_place(files, tmp_path, monkeypatch):
    monkeypatch.setattr(hadoop_files, "AT_A_TIME", 1000)
    table = pa.table({"number": list(range(5000)), "name": [f"é{k % 7}" for k in range(5000)]})
    files.create_dir("a/b")
    name = "a/b/x %20[1]{é}.parquet"
    with files.open_output_stream(name) as out:
        pq.write_table(table, out, compression="none")
    assert pq.read_table(tmp_path / name).equals(table)
    assert pq.read_table(name, filesystem=files).equals(table)
    data = (tmp_path / name).read_bytes()
    assert len(data) > 20_000
    with files.open_input_file(name) as source:
        assert source.size() == len(data)
        assert source.read_at(3000, 500) == data[500:3500]
        source.seek(len(data) - 10)
        assert source.read() == data[-10:]
        assert source.read(5) == b""
        source.seek(7)
        assert source.read(9) == data[7:16]
    with files.open_output_stream(name) as out:
        out.write(b"shorter")
        assert out.tell() == 7
    with files.open_input_stream(name) as source:
        assert source.read() == b"shorter"


def test_folders_are_listed_and_files_removed(files, tmp_path):
    assert listed(files) == {}
    files.create_dir("a/b")
    for name in ("a/x", "a/b/y", "z"):
        with files.open_output_stream(name) as out:
            out.write(name.encode())
    folder, file = (fs.FileType.Directory, None), fs.FileType.File
    assert listed(files) == {"a": folder, "z": (file, 1)}
    assert listed(files, "a", recursive=True) == {"a/b": folder, "a/x": (file, 3), "a/b/y": (file, 5)}
    assert listed(files, "gone", allow_not_found=True) == {}
    assert files.get_file_info("a").type == fs.FileType.Directory
    assert files.get_file_info("gone").type == fs.FileType.NotFound
    files.delete_file("a/x")
    files.delete_dir("a/b")
    assert listed(files, "a") == {}
    assert not list((tmp_path / "a").glob("[a-z]*"))


def test_what_is_not_there_is_told_as_python_does(files):
    for call in (
        lambda: files.open_input_file("gone"),
        lambda: files.open_input_stream("gone"),
        lambda: files.delete_file("gone"),
        lambda: listed(files, "gone"),
    ):
        with pytest.raises(FileNotFoundError, match="No such file"):
            call()
    with files.open_output_stream("file") as out:
        out.write(b"x")
    with pytest.raises(OSError, match="file"):
        files.create_dir("file/below")


def test_arrow_opens_what_it_can(spark, tmp_path):
    systems = SessionSystems(spark)
    for address in (str(tmp_path), f"file://{tmp_path}"):
        system, path = systems(address)
        assert isinstance(system, fs.LocalFileSystem)
        assert path == str(tmp_path)


def test_an_address_that_nobody_knows_is_told_in_one_line(spark):
    with pytest.raises(InvalidInput, match=r"^Spark cannot open nosuch:// here: "), told_in_one_line():
        SessionSystems(spark)("nosuch://host/x")


def test_a_session_of_spark_connect_has_nothing_to_lend():
    with pytest.raises(InvalidInput, match="'lake://x/y' cannot be opened from here, and a session of Spark"):
        SessionSystems(object())("lake://x/y")


@pytest.mark.parametrize(
    ("address", "root", "path"),
    [
        ("s3a://bucket/a%20b/c d/", "s3a://bucket", "a%20b/c d"),
        ("s3a://bucket", "s3a://bucket", ""),
        ("hdfs:/a/b", "hdfs://", "a/b"),
        ("hdfs:///a", "hdfs://", "a"),
        ("abfss://box@account.host/a", "abfss://box@account.host", "a"),
        ("/a:/b", "", "/a:/b"),
        ("a:b/c", "", "a:b/c"),
    ],
)
def test_an_address_is_split_as_it_is(address, root, path):
    assert split_address(address) == (root, path)


def test_arrow_reaches_a_folder_whether_or_not_it_is_there(tmp_path):
    assert can_reach(f"file://{tmp_path}/gone")
    assert not can_reach("nosuch://host/x")
