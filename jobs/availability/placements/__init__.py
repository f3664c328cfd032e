"""Placement constraints: replicas and observers per rack, and their mismatches.

In reading order: `placement`, `compare`.
"""
