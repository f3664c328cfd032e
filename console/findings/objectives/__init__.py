"""Service level objectives of flows and clusters, and the time that was measured of them.

In reading order: `models`, `queries`, `store`.
"""
