"""Analysis of delivery traces and reader positions over Arrow, without Spark.

:mod:`stablecast.analysis.reading` turns files of any origin into rows of events.
"""
