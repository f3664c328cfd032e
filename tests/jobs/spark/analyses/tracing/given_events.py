"""Works without a cluster: what a reducer makes of given readers."""

from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.running import Reduced

AT_MS = 10_000_000


def reduced(reduce, reader, options, **extra):
    """Return one work that was done; nothing is held back or compacted unless `extra` says so."""
    known = {"is_marks": False, "at_ms": AT_MS, "is_held": False, "is_compacted": False}
    known |= {"from": None, "to": None, **extra}
    work = Work((reader.span,), known)
    return Reduced(work, reduce([reader], work, options), (reader.outcome,))
