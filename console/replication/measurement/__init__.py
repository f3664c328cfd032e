"""What is measured of flows in rounds, and their lag as a series.

In reading order: `collect`, `measure`, `store`, `series`, `models`, `queries`.
"""
