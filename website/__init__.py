"""The documentation's web site: the pages of ``docs/`` in order, and reference made from the code."""
