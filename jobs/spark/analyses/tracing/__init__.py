"""Kinds of analysis of events that move through topics; `jobs.tracing` has their rules.

In reading order: `extracting`, `tiered_reading`, `tiered_reach`.
"""
