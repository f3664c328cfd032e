"""The file given to spark-submit to record which classes the driver of an analysis loads."""

import tempfile
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from jobs.spark.engine.warm_up import first_query

if __name__ == "__main__":
    context = SparkContext.getOrCreate()
    context.setLogLevel("ERROR")
    context.parallelize([0], 1).mapPartitions(list).collect()
    with tempfile.TemporaryDirectory() as folder:
        first_query(SparkSession(context), Path(folder))
    context.stop()
