"""Slots of a real PostgreSQL: the numbers are pg_wal_lsn_diff's, and what blocks is named."""

import psycopg
import pytest

from stablecast.errors import InvalidInput
from stablecast.holdback.frontier import frontier_of
from stablecast.holdback.numbering import Numbering, parse_lsn
from stablecast.holdback.sources import open_source

pytestmark = pytest.mark.xdist_group("postgres")
TEXT = Numbering.BYTE.text


def snapshot(url, **more):
    with open_source(url, **more) as source:
        return source.take()


def one_log(url):
    (log,) = snapshot(url).logs
    return log


def write(server, rows):
    server.execute("INSERT INTO orders SELECT g, repeat('x', 500) FROM generate_series(1, %s) g", [rows])


@pytest.fixture
def postgres(postgres_process):
    """A connection to a server without slots, with a table to write to; its ``url`` is where it is."""
    with psycopg.connect(postgres_process.url, autocommit=True) as server:
        for (name,) in server.execute("SELECT slot_name FROM pg_replication_slots").fetchall():
            server.execute("SELECT pg_drop_replication_slot(%s)", [name])
        server.execute("CREATE TABLE IF NOT EXISTS orders (id int, payload text)")
        yield Server(server, postgres_process.url)


class Server:
    def __init__(self, connection, url):
        self.connection, self.url = connection, url

    def execute(self, *words):
        return self.connection.execute(*words)

    def one(self, statement, *values):
        ((found,),) = self.execute(statement, values).fetchall()
        return found

    def make_slot(self, name, kind="logical"):
        if kind == "logical":
            self.execute("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", [name])
        else:
            self.execute("SELECT pg_create_physical_replication_slot(%s, %s)", [name, kind == "reserved"])

    def read(self, name):
        """Let a slot's reader confirm everything, and the server note where it would begin again."""
        self.execute("SELECT count(*) FROM pg_logical_slot_get_changes(%s, NULL, NULL)", [name])
        self.execute("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", [name])


@pytest.fixture
def slots(postgres):
    """A blocker that is gone, the next one, one that never read, and a physical one that was never used."""
    postgres.make_slot("archive", "reserved")
    write(postgres, 2000)
    postgres.make_slot("never")
    write(postgres, 1000)
    postgres.make_slot("billing")
    write(postgres, 500)
    postgres.read("billing")
    postgres.make_slot("unused", "physical")
    return postgres


def test_the_blocker_is_named_with_the_next_one(slots):
    found = frontier_of(one_log(slots.url))
    first = found.standings[0]
    assert (found.waiting_for, first.next_blockers) == (("archive",), ("never",))
    readers = {one.member: one for one in found.log.readers}
    assert readers["never"].never_read
    assert not readers["billing"].never_read
    assert (readers["unused"].holds, readers["unused"].never_read) == (False, True)
    assert readers["archive"].connected is False


def test_amounts_are_what_the_server_computes(slots):
    log = one_log(slots.url)
    rows = slots.execute(
        "SELECT slot_name, restart_lsn::text, pg_wal_lsn_diff(%s::pg_lsn, restart_lsn)::bigint, safe_wal_size"
        " FROM pg_replication_slots WHERE restart_lsn IS NOT NULL",
        [TEXT(log.head)],
    ).fetchall()
    readers = {one.member: one for one in log.readers}
    assert len(rows) == 3
    for name, restart, behind, safe in rows:
        assert readers[name].behind.bytes == behind
        assert TEXT(readers[name].position) == restart
        assert abs(readers[name].details["safe_wal_size"] - safe) < 1 << 20  # the log may have grown since
    safest = min(safe for *_, safe in rows)
    assert abs(log.room.left.bytes - safest) < 1 << 20
    assert log.room.then.startswith("slot ")


def test_without_the_blocker_the_frontier_is_where_the_counterfactual_said(slots):
    before = frontier_of(one_log(slots.url))
    said = before.standings[0]
    slots.execute("SELECT pg_drop_replication_slot('archive')")
    after = frontier_of(one_log(slots.url))
    assert (after.stable_seq, after.waiting_for) == (said.without_seq, said.next_blockers)
    freed = slots.one(
        "SELECT pg_wal_lsn_diff(%s::pg_lsn, %s::pg_lsn)::bigint",
        TEXT(said.without_seq),
        TEXT(before.stable_seq),
    )
    assert said.frees.bytes == freed


def test_a_reader_that_is_connected_is_told(slots):
    with psycopg.connect(slots.url, autocommit=True) as other:
        other.execute("SELECT pg_create_logical_replication_slot('now', 'test_decoding', true)")
        readers = {one.member: one for one in one_log(slots.url).readers}
        assert readers["now"].connected


def test_what_is_kept_begins_with_the_oldest_file(slots):
    log = one_log(slots.url)
    oldest = slots.one("SELECT min(name) FROM pg_ls_waldir()")
    held = slots.one("SELECT pg_walfile_name(%s::pg_lsn)", TEXT(log.first_seq))
    assert held == oldest
    assert log.kept.bytes == log.head - (log.first_seq - 1)
    modified = slots.one(
        "SELECT (extract(epoch FROM modification) * 1e6)::bigint FROM pg_ls_waldir() WHERE name ="
        " pg_walfile_name((SELECT restart_lsn FROM pg_replication_slots WHERE slot_name = 'archive'))"
    )
    assert frontier_of(log).since_us <= modified


def test_a_slot_that_is_lost_holds_nothing(postgres):
    postgres.make_slot("archive", "reserved")
    postgres.execute("SELECT pg_create_logical_replication_slot('billing', 'test_decoding')")
    before = {one.member: one for one in one_log(postgres.url).readers}
    confirmed = before["billing"].details["confirmed_flush_lsn"]
    postgres.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
    postgres.execute("SELECT pg_reload_conf()")
    try:
        for _ in range(3):
            write(postgres, 100)
            postgres.execute("SELECT pg_switch_wal()")
        postgres.execute("CHECKPOINT")
        log = one_log(postgres.url)
        one, other = sorted(log.readers, key=lambda one: one.member)
        assert (one.details["wal_status"], one.holds) == ("lost", False)
        assert (one.lost, one.never_read, one.position) == (True, False, None)
        assert (other.lost, other.never_read, other.holds) == (True, False, False)
        assert log.numbering.text(other.position) == confirmed
        assert all(one.lost for one in frontier_of(log).standings)
        assert frontier_of(one_log(postgres.url)).waiting_for == ()
    finally:
        postgres.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
        postgres.execute("SELECT pg_reload_conf()")


def test_least_rights_are_enough_and_less_is_told(slots):
    slots.execute("DROP ROLE IF EXISTS looker")
    slots.execute("CREATE ROLE looker LOGIN PASSWORD 'p' IN ROLE pg_monitor")
    url = slots.url.replace("postgres:secret@", "looker:p@")
    assert snapshot(url).problems == ()
    slots.execute("REVOKE pg_monitor FROM looker")
    found = snapshot(url)
    (line,) = found.problems
    assert "pg_monitor" in line
    assert frontier_of(found.logs[0]).waiting_for == ("archive",)
    assert frontier_of(found.logs[0]).held == frontier_of(one_log(slots.url)).held


@pytest.mark.parametrize("user", ["postgres:wrong", "nobody:wrong"])
def test_a_wrong_password_is_one_line_without_it(postgres, user):
    with pytest.raises(InvalidInput, match="password authentication failed") as raised:
        snapshot(postgres.url.replace("postgres:secret", user))
    assert "wrong" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_server_that_is_not_there_is_one_line():
    with pytest.raises(InvalidInput, match=r"^cannot ask postgres://127\.0\.0\.1:1: "):
        snapshot("postgres://127.0.0.1:1")


def test_a_server_that_goes_is_one_line_and_may_come_back(postgres):
    with open_source(postgres.url) as source:
        source.take()
        postgres.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'stablecast'"
        )
        with pytest.raises(InvalidInput, match="cannot ask"):
            source.take()
        assert source.take().logs[0].head >= parse_lsn("0/1")
