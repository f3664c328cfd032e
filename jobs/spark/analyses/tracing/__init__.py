"""Kinds about events that move through topics.

In reading order: `tier_reading`, `tiered_reach`.
"""
