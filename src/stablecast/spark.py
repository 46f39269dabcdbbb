"""Stability on Spark, for programs and notebooks: ``from stablecast.spark import stability, read_tables``.

>>> tables = stability(spark.table("trace"))  # doctest: +SKIP
>>> tables.sources.where("waiting > 0").show()  # doctest: +SKIP
>>> tables = read_tables(spark, "s3a://bucket/current")  # doctest: +SKIP
"""

from stablecast.pipeline.analysis.stability import Tables, stability
from stablecast.pipeline.analysis.stored import read_tables

__all__ = ["Tables", "read_tables", "stability"]
