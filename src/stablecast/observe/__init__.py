"""Looking at a live group while it runs: from one member's address, or from the members' traces.

``place`` is where a group is looked at, ``history`` what was seen over time, ``shown`` what is said of it;
``top`` shows that on a terminal, and ``dashboard`` as a web page.
"""
