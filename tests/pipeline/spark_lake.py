"""Addresses that Spark knows and Arrow does not: a made-up scheme, mounted on a folder of this machine."""

import itertools

_NUMBERS = itertools.count()


def lake_at(spark, folder):
    """Return an address that stands for a folder, which has to exist."""
    name = f"lake{next(_NUMBERS)}"  # Hadoop keeps what it has mounted under a name
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.lake.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme")
    conf.set(f"fs.viewfs.mounttable.{name}.link./data", f"file://{folder}")
    return f"lake://{name}/data"
