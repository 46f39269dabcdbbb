"""From files of any origin to rows of events: which files, which columns, what is wrong with a row.

Everything here works on Arrow and is used by three callers: the engine on one machine
(:func:`~stablecast.analysis.reading.events.read_events`), workers that read pieces of files themselves
(:mod:`~stablecast.analysis.reading.files`), and workers that are handed rows as they are in the log
(:func:`~stablecast.analysis.reading.classify.classify`).
"""
