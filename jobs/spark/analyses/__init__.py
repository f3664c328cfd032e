"""Analyses: questions that Spark answers, each a kind with typed arguments, tables and one result document.

Sub-rooms: `metadata`, `offsets`, `records`, `groups`, `tracing`.

In reading order: `analysis`, `kinds`, `task`, `document`, `job`.
"""
