"""What is safe to delete, and who stands in the way, in systems that already run.

``model`` has the values: a snapshot of logs, each with a head and its readers' positions.  ``frontier`` says
what follows from one snapshot, ``rates`` what follows from two.  ``sources`` take snapshots, one file for
each system.  Nothing here loads numba, numpy, pyarrow or Spark but ``collecting``, which writes Parquet.
"""
