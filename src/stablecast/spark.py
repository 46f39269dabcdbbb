"""Stability on Spark, for programs and notebooks: ``from stablecast.spark import stability``.

>>> tables = stability(spark.table("trace"))  # doctest: +SKIP
>>> tables.sources.where("waiting > 0").show()  # doctest: +SKIP
"""

from stablecast.pipeline.analysis.stability import Tables, stability

__all__ = ["Tables", "stability"]
