"""Runbooks for partitions in trouble.

In reading order: `partition_runbooks`, `serializers`.
"""
