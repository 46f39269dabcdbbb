"""One server of each kind for the tests of a process; a test begins with nothing in it."""

import tempfile

import pytest
from servers import nats_server, postgres_server, redis_server


@pytest.fixture(scope="session")
def redis_process(tmp_path_factory):
    with redis_server(tmp_path_factory.mktemp("redis")) as process:
        yield process


@pytest.fixture
def redis(redis_process):
    """A client of an empty Redis; its ``url`` is where it is."""
    import redis

    with redis.Redis(port=redis_process.port, decode_responses=True) as client:
        client.flushall()
        client.url = redis_process.url
        yield client


@pytest.fixture(scope="session")
def nats_process(tmp_path_factory):
    with nats_server(tmp_path_factory.mktemp("nats")) as process:
        yield process


@pytest.fixture(scope="session")
def postgres_process():
    # pytest's own folders are closed to the user that the server runs as.
    with (
        tempfile.TemporaryDirectory(prefix="stablecast-postgres-") as folder,
        postgres_server(f"{folder}/server") as server,
    ):
        yield server
