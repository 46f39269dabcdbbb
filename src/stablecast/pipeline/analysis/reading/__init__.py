"""From files of any origin to rows of events: which files, which columns, what is wrong with a row."""
