"""What a history of sendings and receipts says: which numbers are stable since when, and who held them back.

``memberships`` finds who was in a group when.  ``slowest`` keeps the two slowest of many readers, and
``positions`` follows heads and positions through time; both are kernels.  ``position_rows`` makes arrays of
Arrow tables for them, ``position_tables`` and ``position_sums`` make Arrow tables of what they found.
"""
