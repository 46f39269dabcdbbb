"""Files of this machine whose writer is stopped before any of its steps, or in the middle of a file."""

import pyarrow as pa
from pyarrow import fs


class Stopped(BaseException):
    """Nothing that anybody handles."""


class Steps:
    """Counts what is done to files, and stops before one of the steps and all that would follow."""

    def __init__(self):
        self.done, self.last = 0, None

    def stop_after(self, steps):
        self.done, self.last = 0, steps

    def take(self):
        if self.last is not None and self.done >= self.last:
            raise Stopped
        self.done += 1

    def counted(self, call):
        def counted(*arguments, **more):
            self.take()
            return call(*arguments, **more)

        return counted


class SteppedFiles(fs.FileSystemHandler):
    """To write a file takes two steps: after the first of them there is half of it."""

    def __init__(self, steps):
        self.steps, self.files = steps, fs.LocalFileSystem()

    def get_type_name(self):
        return "stepped"

    def normalize_path(self, path):
        return path

    def get_file_info(self, paths):
        return self.files.get_file_info(paths)

    def get_file_info_selector(self, selector):
        return self.files.get_file_info(selector)

    def create_dir(self, path, recursive):
        self.steps.take()
        self.files.create_dir(path, recursive=recursive)

    def delete_file(self, path):
        self.steps.take()
        self.files.delete_file(path)

    def open_input_stream(self, path):
        return self.files.open_input_stream(path)

    def open_input_file(self, path):
        return self.files.open_input_file(path)

    def open_output_stream(self, path, metadata):
        return pa.PythonFile(_Writing(self.steps, path), "w")

    def no(self, *arguments):
        raise AssertionError("a version needs no such thing")

    delete_dir = delete_dir_contents = delete_root_dir_contents = no
    move = copy_file = open_append_stream = no


class _Writing:
    def __init__(self, steps, path):
        self.steps, self.path = steps, path
        self.data, self.closed = b"", False

    def write(self, data):
        self.data += bytes(data)
        return len(data)

    def flush(self):
        pass

    def tell(self):
        return len(self.data)

    def close(self):
        if self.closed:
            return
        self.closed = True
        for data in (self.data[: len(self.data) // 2], self.data):
            self.steps.take()
            with open(self.path, "wb") as file:  # noqa: PTH123
                file.write(data)
