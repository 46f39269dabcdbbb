"""Tell Spark what to read: every file once, all columns as they are, and the lines that are no rows.

Values in lines of JSON and CSV are read as text, so that one of a wrong type is told instead of lost.  What
follows a whole object in its line of JSON is not looked at: Spark's reader stops there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from stablecast.analysis.reading.foreign import Foreign
from stablecast.analysis.reading.heads import (
    CSV,
    LINES_LOOKED_AT,
    PARQUET,
    Column,
    Head,
    text_head,
)
from stablecast.analysis.reading.inputs import Input, Inputs
from stablecast.analysis.reading.mapping import Part, plan_parts
from stablecast.analysis.reading.raw import UNREAD
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.failures import readable_error

if TYPE_CHECKING:
    from pyspark.sql import Column as Values
    from pyspark.sql import DataFrame, SparkSession

_LINE_OPTIONS = {"columnNameOfCorruptRecord": UNREAD, "mode": "PERMISSIVE"}
_CSV_OPTIONS: dict[str, bool | str] = {
    "header": True,
    "escape": '"',
    # With pruning, a line with too few or too many columns would pass for a row.
    "columnPruning": False,
    "ignoreLeadingWhiteSpace": True,
    "ignoreTrailingWhiteSpace": True,
}


@dataclass(frozen=True)
class RawRows:
    """Rows of files that are read together, as they are."""

    frame: DataFrame
    part: Part


def raw_rows(spark: SparkSession, inputs: Inputs, foreign: Foreign) -> list[RawRows]:
    """Return what to read, having refused files that lack columns or cannot be opened."""
    try:
        seen = replace(inputs, files=tuple(_with_head(spark, file) for file in inputs.files))
        return [RawRows(_frame(spark, part), part) for part in plan_parts(seen, foreign)]
    except InvalidInput:
        raise
    except Exception as error:
        # py4j's errors have no root of their own that pyspark exports.
        line = readable_error(error)
        if line is None:
            raise
        raise InvalidInput(line) from error


def _with_head(spark: SparkSession, file: Input) -> Input:
    if file.head is not None:
        return file
    if file.format == PARQUET:
        schema = spark.read.option("recursiveFileLookup", True).parquet(file.path).schema
        return replace(file, head=Head(tuple(spark_columns(schema))))
    first = spark.read.option("recursiveFileLookup", True).text(file.path).limit(LINES_LOOKED_AT).collect()
    return replace(file, head=text_head("\n".join(row[0] for row in first), file.format, file.name))


def spark_columns(schema: Any, above: tuple[str, ...] = ()) -> list[Column]:
    """Return the columns of a schema of Spark's, those inside of objects too."""
    columns = []
    for field in schema.fields:
        place = (*above, field.name)
        type_name = field.dataType.simpleString()
        columns.append(Column(".".join(place), place, type_name.partition("<")[0], type_name))
        if field.dataType.typeName() == "struct":
            columns += spark_columns(field.dataType, place)
    return columns


def _frame(spark: SparkSession, part: Part) -> DataFrame:
    reader = spark.read if part.local else spark.read.option("recursiveFileLookup", True)
    paths = list(part.paths)
    if part.format == PARQUET:
        return reader.schema(_ddl(_tree(part.columns)) or StructType()).parquet(*paths)
    reader = reader.options(**_LINE_OPTIONS)
    if part.format == CSV:
        columns = ", ".join(f"c{place} string" for place in range(part.width))
        reader = reader.options(**_CSV_OPTIONS, sep=part.separator)
        return reader.schema(f"{columns}, {UNREAD} string").csv(paths)
    frame = reader.schema(_ddl(_tree(part.columns) | {UNREAD: "string"})).json(paths)
    if part.cut:
        key = F.sha2(F.concat(_file(), F.lit("\n"), F.col(UNREAD)), 256)
        frame = frame.where(F.col(UNREAD).isNull() | ~key.isin(list(part.cut)))
    return frame


def _tree(columns: Mapping[str, Column]) -> dict[str, Any]:
    """Return the types to read, nested as the columns are."""
    tree: dict[str, Any] = {}
    for column in columns.values():
        if column.type == "void":
            continue
        inner = tree
        for name in column.place[:-1]:
            inner = inner.setdefault(name, {})
        inner[column.place[-1]] = column.stored
    return tree


def _ddl(tree: Mapping[str, Any], between: str = " ") -> str:
    fields = []
    for name, kind in tree.items():
        words = f"struct<{_ddl(kind, ': ')}>" if isinstance(kind, dict) else kind
        fields.append(f"{_quote(name)}{between}{words}")
    return ", ".join(fields)


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _file() -> Values:
    """Return the path of each row's file, as ``os.path.abspath`` gives it where it is local."""
    path = F.url_decode(F.replace(F.col("_metadata.file_path"), F.lit("+"), F.lit("%2B")))
    return F.regexp_replace(path, "^file:/+", "/")
