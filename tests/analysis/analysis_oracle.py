"""The analysis of delivery traces in SQL, with DuckDB on one machine: an independent computation."""

import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb

TABLES = ("messages", "frontiers", "buffers", "laggards", "violations")
EVER, NEVER = "(-9223372036854775808)::BIGINT", "9223372036854775807"

# In all of this `m` numbers the messages, sent ones first, and `i` the incarnations, both in order of their
# names. A copy is a message at an incarnation. Somebody that is no member has one too, which
# does not belong.

MEMBERSHIP = f"""
CREATE OR REPLACE TEMP TABLE actors AS
    SELECT g, member, bool_or(kind IN ('send', 'receive')) AS active
    FROM events WHERE kind IN ('send', 'receive', 'release') GROUP BY g, member;

CREATE OR REPLACE TEMP TABLE departures AS
    SELECT DISTINCT g, member, time_us FROM events WHERE kind IN ('leave', 'fail');

CREATE OR REPLACE TEMP TABLE starts AS
    SELECT DISTINCT g, member, time_us AS start_us FROM events WHERE kind = 'join';
INSERT INTO starts
    SELECT g, member, {EVER} FROM actors WHERE active AND g NOT IN (SELECT g FROM starts);

-- Joins with the same next departure are one stay, but for one at the departure itself: an empty stay.
CREATE OR REPLACE TEMP TABLE stays AS
    SELECT s.g, s.member, start_us, d.time_us AS end_us
    FROM starts s ASOF LEFT JOIN departures d
        ON s.g = d.g AND s.member = d.member AND s.start_us <= d.time_us
    QUALIFY start_us = end_us OR row_number() OVER (PARTITION BY s.g, s.member, end_us ORDER BY start_us) = 1;

CREATE OR REPLACE TEMP TABLE incarnations AS
    WITH everyone AS (
        SELECT g, member, start_us, end_us, end_us AS departed_us, true AS belongs FROM stays
        UNION ALL
        SELECT g, member, {EVER}, departed_us, departed_us, false
        FROM actors ANTI JOIN stays USING (g, member)
            LEFT JOIN (SELECT g, member, min(time_us) AS departed_us FROM departures GROUP BY g, member)
            USING (g, member)
    )
    SELECT
        row_number() OVER (ORDER BY g, member, start_us)::INTEGER AS i,
        dense_rank() OVER (ORDER BY g, member)::INTEGER AS name,
        *,
        CASE WHEN row_number() OVER own = 1 THEN {EVER} ELSE start_us END AS from_us,
        lead(start_us, 1, {NEVER}) OVER own AS until_us
    FROM everyone WINDOW own AS (PARTITION BY g, member ORDER BY start_us);

-- How many are in the group from a time on.
CREATE OR REPLACE TEMP TABLE sizes AS
    WITH changes AS (
        SELECT g, start_us AS time_us, 1 AS change FROM incarnations WHERE belongs
        UNION ALL
        SELECT g, end_us, -1 FROM incarnations WHERE belongs AND end_us IS NOT NULL
    )
    SELECT g, time_us, sum(sum(change)) OVER (PARTITION BY g ORDER BY time_us) AS size
    FROM changes GROUP BY g, time_us;
"""

MESSAGES = """
CREATE OR REPLACE TEMP TABLE sends AS
    SELECT g, source, seq, time_us, max(bytes) OVER same AS bytes,
        row_number() OVER (same ORDER BY time_us) AS nth
    FROM events WHERE kind = 'send' WINDOW same AS (PARTITION BY g, source, seq);

CREATE OR REPLACE TEMP TABLE sent AS
    WITH firsts AS (
        SELECT
            row_number() OVER (ORDER BY s.g, source, seq)::INTEGER AS m,
            s.g, source, seq, bytes, time_us AS sent_us,
            i AS sender, name AS sender_name, least(time_us, end_us) AS sender_us,
            end_us IS NULL OR time_us <= end_us AS sender_has_it,
            belongs AND start_us <= time_us AND (end_us IS NULL OR end_us > time_us) AS sender_is_in
        FROM sends s JOIN incarnations n
            ON s.g = n.g AND s.source = n.member AND time_us >= from_us AND time_us < until_us
        WHERE nth = 1
    )
    SELECT firsts.*, (coalesce(size, 0) + CASE WHEN sender_is_in THEN 0 ELSE 1 END)::INTEGER AS required
    FROM firsts ASOF LEFT JOIN sizes ON firsts.g = sizes.g AND firsts.sent_us >= sizes.time_us;

CREATE OR REPLACE TEMP TABLE keys AS SELECT m, g, source, seq FROM sent;
INSERT INTO keys
    SELECT (SELECT count(*) FROM sent) + row_number() OVER (ORDER BY g, source, seq), g, source, seq
    FROM (SELECT DISTINCT g, source, seq FROM events ANTI JOIN sent USING (g, source, seq)
          WHERE kind IN ('receive', 'release'));

CREATE OR REPLACE TEMP TABLE marks AS
    SELECT
        m, i, e.time_us,
        CASE WHEN kind = 'release' THEN 2 WHEN e.time_us > departed_us THEN 1 ELSE 0 END::UTINYINT AS what
    FROM events e JOIN keys k ON e.g = k.g AND e.source = k.source AND e.seq = k.seq
        JOIN incarnations n
        ON e.g = n.g AND e.member = n.member AND e.time_us >= from_us AND e.time_us < until_us
    WHERE kind IN ('receive', 'release');

CREATE OR REPLACE TEMP TABLE copies AS
    SELECT m, i, min(time_us) FILTER (what = 0) AS got_us, count(*) FILTER (what = 0) AS receipts,
        min(time_us) FILTER (what = 2) AS released_us
    FROM marks WHERE what <> 1 GROUP BY m, i;
"""

TRUTH = """
CREATE OR REPLACE TEMP TABLE contributions AS
    SELECT m, i, got_us AS time_us, true AS has_it
    FROM copies JOIN incarnations USING (i) JOIN sent USING (m)
    WHERE got_us IS NOT NULL AND i <> sender
        AND belongs AND start_us <= sent_us AND (end_us IS NULL OR end_us > sent_us);
INSERT INTO contributions SELECT m, sender, sender_us, sender_has_it FROM sent;

-- Those that had to receive a message and did not: only for messages that lack somebody.
INSERT INTO contributions
    WITH counts AS (SELECT m, count(*) AS known FROM contributions GROUP BY m),
    lacking AS (SELECT * FROM sent JOIN counts USING (m) WHERE known < required)
    SELECT m, i, end_us, false
    FROM (SELECT m, i, end_us
          FROM lacking l JOIN incarnations n
            ON l.g = n.g AND start_us <= sent_us AND (end_us IS NULL OR end_us > sent_us)
          WHERE belongs)
        ANTI JOIN contributions USING (m, i);

CREATE OR REPLACE TEMP TABLE verdicts AS
    WITH tops AS (
        SELECT m, max(time_us, 2) AS top, count(*) = count(time_us) AS is_stable,
            count(*) FILTER (has_it)::INTEGER AS received
        FROM contributions GROUP BY m
    ),
    lasts AS (
        SELECT m, min(i) AS i FROM contributions JOIN tops USING (m)
        WHERE is_stable AND time_us = top[1] GROUP BY m
    )
    SELECT m, received, CASE WHEN is_stable THEN top[1] END AS stable_us, lasts.i AS last_one,
        CASE WHEN is_stable THEN top[1] - coalesce(top[2], top[1]) END AS held_us
    FROM tops LEFT JOIN lasts USING (m);
"""

CLAIMS = """
-- Up to which message a claim reaches, and whose it is.
CREATE OR REPLACE TEMP TABLE claims AS
    WITH reaching AS (
        SELECT c.g, c.member, c.source, c.seq, c.time_us, m AS upto
        FROM (FROM events WHERE kind = 'stable') c
            ASOF LEFT JOIN sent s ON c.g = s.g AND c.source = s.source AND c.seq >= s.seq
    )
    SELECT r.*, i FROM reaching r LEFT JOIN incarnations n
        ON r.g = n.g AND r.member = n.member AND time_us >= from_us AND time_us < until_us;

CREATE OR REPLACE TEMP TABLE detected AS
    WITH firsts AS (
        SELECT g, source, i, upto, min(time_us) AS time_us
        FROM claims WHERE upto IS NOT NULL AND i IS NOT NULL GROUP BY g, source, i, upto
    ),
    origins AS (SELECT g, source, min(m) AS origin FROM sent GROUP BY g, source),
    steps AS (
        SELECT i, upto, coalesce(lag(upto) OVER own + 1, origin) AS since,
            min(time_us) OVER (own ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS time_us
        FROM firsts JOIN origins USING (g, source)
        WINDOW own AS (PARTITION BY g, source, i ORDER BY upto)
    ),
    known AS (SELECT unnest(range(since, upto + 1))::INTEGER AS m, i, time_us FROM steps)
    SELECT m, min(time_us) AS first_us, max(time_us) AS last_us
    FROM known JOIN sent USING (m) JOIN incarnations USING (i)
    WHERE i = sender OR (belongs AND start_us <= sent_us AND (end_us IS NULL OR end_us > sent_us))
    GROUP BY m;

CREATE OR REPLACE TEMP TABLE released AS
    SELECT m, min(time_us) AS first_us, max(time_us) AS last_us FROM marks WHERE what = 2 GROUP BY m;
"""

HOLDINGS = """
CREATE OR REPLACE TEMP TABLE holdings AS
    WITH begun AS (
        SELECT m, i, name, got_us AS begin_us, released_us, end_us, coalesce(bytes, 0) AS bytes
        FROM copies JOIN incarnations USING (i) LEFT JOIN sent USING (m)
        WHERE got_us IS NOT NULL AND name IS DISTINCT FROM sender_name
        UNION ALL
        SELECT m, i, name, sent_us, released_us, end_us, coalesce(bytes, 0)
        FROM sent JOIN incarnations ON i = sender LEFT JOIN copies USING (m, i)
    )
    SELECT name, begin_us, bytes, CASE
        WHEN released_us IS NOT NULL OR end_us IS NOT NULL
        THEN greatest(begin_us, least(released_us, end_us)) END AS end_us
    FROM begun;
"""

OUTPUT = {
    "messages": """
        SELECT s.g AS "group", source, seq, bytes, sent_us, stable_us, n.member AS last_member,
            required, received, d.first_us AS detected_first_us, d.last_us AS detected_last_us,
            r.first_us AS released_first_us, r.last_us AS released_last_us
        FROM sent s JOIN verdicts v USING (m) LEFT JOIN incarnations n ON n.i = last_one
            LEFT JOIN detected d ON d.m = s.m LEFT JOIN released r ON r.m = s.m""",
    "frontiers": f"""
        WITH ordered AS (
            SELECT g, source, seq, origin, row_number() OVER own - 1 AS place,
                max(coalesce(stable_us, {NEVER})) OVER own AS time_us
            FROM sent JOIN verdicts USING (m) JOIN origins USING (g, source)
            WHERE seq >= origin WINDOW own AS (PARTITION BY g, source ORDER BY seq)
        ),
        changes AS (
            SELECT g, source, time_us, max(seq) AS stable FROM ordered
            WHERE seq = origin + place AND time_us < {NEVER} GROUP BY g, source, time_us
        ),
        progress AS (
            SELECT g, source, sent_us, max(max(seq)) OVER (PARTITION BY g, source ORDER BY sent_us) AS sent
            FROM sent GROUP BY g, source, sent_us
        )
        SELECT c.g AS "group", c.source, time_us, sent, stable
        FROM changes c ASOF LEFT JOIN progress p
            ON c.g = p.g AND c.source = p.source AND c.time_us >= p.sent_us""",
    "buffers": """
        WITH changes AS (
            SELECT name, begin_us AS time_us, 1 AS n, bytes
            FROM holdings WHERE end_us IS NULL OR end_us > begin_us
            UNION ALL
            SELECT name, end_us, -1, -bytes FROM holdings WHERE end_us > begin_us
        ),
        levels AS (
            SELECT name, sum(n) OVER own AS n, sum(bytes) OVER own AS bytes
            FROM changes WINDOW own AS (PARTITION BY name ORDER BY time_us)
        ),
        most AS (SELECT name, max(n) AS n, max(bytes) AS bytes FROM levels GROUP BY name),
        ends AS (SELECT g, max(time_us) AS last_us FROM events GROUP BY g),
        names AS (SELECT DISTINCT name, g, member FROM incarnations),
        totals AS (
            SELECT name, sum(coalesce(end_us, last_us) - begin_us) AS message_us
            FROM holdings JOIN names USING (name) JOIN ends USING (g) GROUP BY name
        )
        SELECT g AS "group", member, coalesce(n, 0)::BIGINT AS messages_max,
            coalesce(bytes, 0)::BIGINT AS bytes_max, message_us::BIGINT AS message_us
        FROM totals JOIN names USING (name) LEFT JOIN most USING (name)""",
    "laggards": """
        SELECT n.g AS "group", n.member, count(*) AS completed_last, sum(held_us)::BIGINT AS held_us,
            sum(held_us::DECIMAL(38, 0) * coalesce(bytes, 0))::DECIMAL(38, 0) AS held_bytes_us
        FROM verdicts v JOIN sent USING (m) JOIN incarnations n ON n.i = last_one GROUP BY n.g, n.member""",
    "violations": f"""
        WITH neighbours AS (
            SELECT g, source, seq, sent_us, origin,
                lag(seq) OVER own AS before, lag(sent_us) OVER own AS before_us
            FROM sent JOIN origins USING (g, source) WINDOW own AS (PARTITION BY g, source ORDER BY seq)
        ),
        prefixes AS (
            SELECT m,
                max(coalesce(stable_us, {NEVER})) OVER (PARTITION BY g, source ORDER BY seq) AS stable_us
            FROM sent JOIN verdicts USING (m)
        ),
        repeated AS (
            SELECT m, i, time_us, row_number() OVER (PARTITION BY m, i ORDER BY time_us) AS nth
            FROM marks SEMI JOIN (SELECT m, i FROM copies WHERE receipts > 1) USING (m, i) WHERE what = 0
        ),
        found AS (
            SELECT 'receive_after_departure' AS kind, m, i, time_us FROM marks WHERE what = 1
            UNION ALL
            SELECT 'duplicate', m, i, time_us FROM repeated WHERE nth > 1
            UNION ALL
            SELECT 'receive_before_send', m, i, got_us
            FROM copies JOIN sent USING (m) JOIN incarnations USING (i)
            WHERE got_us < sent_us AND name <> sender_name
            UNION ALL
            SELECT 'early_release', m, i, time_us
            FROM marks JOIN verdicts USING (m) WHERE what = 2 AND (stable_us IS NULL OR stable_us > time_us)
        ),
        largest AS (SELECT g, source, max(seq) AS seq FROM sent GROUP BY g, source),
        unsent AS (
            SELECT k.g, member, source, seq, time_us
            FROM marks JOIN keys k USING (m) JOIN incarnations USING (i) WHERE m > (SELECT count(*) FROM sent)
            UNION ALL
            SELECT c.g, member, c.source, c.seq, time_us
            FROM claims c JOIN largest l ON c.g = l.g AND c.source = l.source AND c.seq > l.seq
        )
        SELECT k.g AS "group", kind, member, source, seq, time_us
        FROM found JOIN keys k USING (m) JOIN incarnations USING (i)
        UNION ALL
        SELECT g, 'early_stable', member, source, seq, time_us
        FROM claims JOIN prefixes ON m = upto WHERE stable_us > time_us
        UNION ALL
        SELECT g, 'sent_again', source, source, seq, time_us FROM sends WHERE nth > 1
        UNION ALL
        SELECT g, 'gap', source, source, coalesce(before + 1, origin), sent_us
        FROM neighbours WHERE seq > coalesce(before + 1, origin)
        UNION ALL
        SELECT g, 'send_out_of_order', source, source, seq, sent_us FROM neighbours WHERE sent_us < before_us
        UNION ALL
        (SELECT DISTINCT ON (g, source, seq) g, 'missing_send', member, source, seq, time_us
         FROM unsent ORDER BY g, source, seq, time_us, member)""",
}


def analyse(source, first_seq=1, connection=None):
    """Return the five tables of events in Parquet files or in an Arrow table, as Arrow tables."""
    with _prepared(source, first_seq, connection) as database:
        return {name: database.sql(OUTPUT[name]).to_arrow_table() for name in TABLES}


def write(source, out_dir, first_seq=1, connection=None):
    """Write the five tables of events as one Parquet file each; return the files by table."""
    files = {name: Path(out_dir) / f"{name}.parquet" for name in TABLES}
    with _prepared(source, first_seq, connection) as database:
        for name, file in files.items():
            database.execute(f"COPY ({OUTPUT[name]}) TO '{file}' (FORMAT parquet)")
    return files


@contextmanager
def _prepared(source, first_seq, connection):
    """Yield a database in which everything that the tables follow from has been computed."""
    with tempfile.TemporaryDirectory() as folder:
        if connection is None:
            connection = duckdb.connect(config={"temp_directory": folder, "preserve_insertion_order": False})
            with closing(connection):
                yield _compute(connection, source, first_seq)
        else:
            yield _compute(connection, source, first_seq)


def _compute(database, source, first_seq):
    # Estimates of rows are far off after joins on names, and loops are slow.
    database.execute("SET asof_loop_join_threshold = 0")
    _name_events(database, source)
    origin = "min(seq)" if first_seq == "earliest" else f"{int(first_seq)}::BIGINT"
    for step in (MEMBERSHIP, MESSAGES, TRUTH, CLAIMS, HOLDINGS):
        database.execute(step)
    database.execute(f"""
        CREATE OR REPLACE TEMP TABLE origins AS
        SELECT g, source, {origin} AS origin FROM sent GROUP BY g, source""")
    return database


def _name_events(database, source):
    """Call events by their name: of Parquet files, of a query, or of an Arrow table."""
    if isinstance(source, str) and source.startswith("SELECT"):
        database.execute(f"CREATE OR REPLACE TEMP TABLE trace AS {source}")  # so that they are read once
    elif isinstance(source, str | Path | list):
        paths = [source] if isinstance(source, str | Path) else source
        paths = [f"{path}/**/*.parquet" if Path(path).is_dir() else str(path) for path in paths]
        database.read_parquet(paths).create_view("trace", replace=True)
    else:
        database.register("trace", source)
    database.execute("""
        CREATE OR REPLACE TEMP VIEW events AS
        SELECT "group" AS g, kind, CASE kind WHEN 'send' THEN source ELSE member END AS member,
            source, seq, time_us, bytes
        FROM trace""")
