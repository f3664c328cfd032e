"""Starts the Python processes of Spark's tasks with bounded memory, in place of `pyspark.daemon`.

Spark's own bound (`spark.executor.pyspark.memory`) is one of address space, where files that are only
mapped count: two whole segments of a metadata log are more than it.
"""

from __future__ import annotations

from pyspark import daemon

from jobs.memory import limit_memory
from jobs.spark.engine.warm_up import load_modules
from jobs.spark.settings import task_memory_mb

if __name__ == "__main__":
    limit_memory(task_memory_mb() << 20)
    # Tasks share what is loaded before they are forked; none of it starts threads.
    list(load_modules(()))
    daemon.manager()
