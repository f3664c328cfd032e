"""Kinds about the records of topics, and the one reader that they share.

In reading order: `ranges`, `tries`, `reading`, `running`; `topic_profile`; `key_skew`, `skew`, `hot_keys`,
`partitioning`, `skew_rows`; `copy_audit`; `store_at`, `store_history`. Sub-rooms: `profile`, `auditing`.
"""
