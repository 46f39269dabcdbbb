"""The computation of :mod:`stablecast.delivery` spread over Spark: a few jobs, each a function over Arrow.

Theory
    All that is told of a run of numbers of a source goes to one *bucket*, whatever file or row it is in.
    Four steps follow each other.  *Pack*: workers read and classify rows, and put them together by bucket;
    each also tells what it has seen (the scan).  The scans of all workers give the membership, at the driver.
    *Judge*: all of a bucket comes together, and what is true of its messages is computed; sums of runs,
    members and sources go to the driver, which puts them in line.  *Link*: with what was before each run,
    buckets find prefixes, detections and what is out of line.  *Level*: what members held, by member and
    time, for peaks and the course.
What crosses between steps
    Rows of (bucket, what, data), in which data is a piece of binary: thousands of rows of events are one row
    of Spark, so that the bridge between Java and Python, which costs by row and column, hardly shows.
What is true after each step
    Its rows are persisted on disk, and everything later reads them there.  A lost worker's share is computed
    again from what was before it; nothing but Spark's own storage and the output is written.
What can go wrong
    A bucket has to fit into a worker's memory.  Their number follows from the size of the input where that
    is known, and is large enough for two hundred million events where it is not.
"""
