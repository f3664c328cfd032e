"""A whole metadata log as tables in Parquet: what changed, who voted, who led, who was missing.

In reading order: `schemas`, `writing`, `reading`, `churn`, `state_times`, `loops`.
"""
