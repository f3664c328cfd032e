"""Starts the processes of slots, which share what is loaded before they are forked, for `pyspark.daemon`."""

from __future__ import annotations

import gc

from pyspark import daemon

from jobs.replication.copy import flow_copier
from jobs.spark.slots import slot_task

_LOADED = (flow_copier, slot_task)

if __name__ == "__main__":
    # Objects that no collection visits stay in pages that all processes share.
    gc.collect()
    gc.freeze()
    daemon.manager()
