"""Engines: Spark applications of a machine to which runs are handed over; the one that answers analyses.

An engine is a run like others, with a folder, a supervisor and a lease; runs come to it through its inbox.
The door is one for both kinds: that of analyses is here, that of flows in `jobs.spark.slots`.

In reading order: `folder`, `door`, `hosted_run`, `analysis_thread`, `warm_up`, `driver`.
"""
