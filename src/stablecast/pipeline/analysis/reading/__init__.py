"""From files to rows of events on Spark; what needs no Spark is in :mod:`stablecast.analysis.reading`."""
