"""Rules about events that move through topics. No Spark, no I/O, no clock.

In reading order: `tiers`.
"""
