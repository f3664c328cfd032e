"""Placement constraints: how many replicas and observers belong into which rack, and who differs.

In reading order: `placement`, `compare`.
"""
