"""Runbooks for partitions in trouble.

In reading order: `parts`, `serializers`.
"""
