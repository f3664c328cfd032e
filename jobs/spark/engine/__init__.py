"""The warm engine: one Spark application per machine that answers analyses, a few at once.

It is a run like others, with a folder, a supervisor and a lease; runs come to it through its inbox.

In reading order: `folder`, `door`, `analysis_thread`, `warm_up`, `driver`.
"""
