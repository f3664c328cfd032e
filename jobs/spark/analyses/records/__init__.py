"""Kinds about the records of topics, and the one reader that they share.

Sub-rooms: `profile`, `keys`, `auditing`.

In reading order: `ranges`, `chunks`, `tries`, `reading`, `running`; `topic_profile`; `key_skew`;
`copy_audit`; `store_at`, `store_history`.
"""
