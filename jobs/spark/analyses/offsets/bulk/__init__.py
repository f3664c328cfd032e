"""Offsets in bulk: read from a list or asked of a cluster, translated and refined by the tasks of Spark.

In reading order: `asked`, `question_files`, `question_rows`, `answering`, `refined`,
`shared_reading`.
"""
