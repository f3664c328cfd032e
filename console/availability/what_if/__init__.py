"""Failure simulation of collected clusters.

In reading order: `api`, `serializers`, `pages`, `forms`, `query`, `cluster_models`, `snapshot_reader`,
`cluster_snapshots`, `simulation`, `matrices`.
"""
