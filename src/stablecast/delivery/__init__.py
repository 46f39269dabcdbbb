"""What is true of delivered messages: stable since when, held back by whom, kept how long, and what is wrong.

Computations over arrays, compiled, that know nothing of files or of Spark.
"""
