"""Kinds about the records of topics, and the one reader that they share.

In reading order: `ranges`, `reading`, `running`; `store_at`, `store_history`.
"""
