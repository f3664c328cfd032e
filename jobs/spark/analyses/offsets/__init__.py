"""Analyses of offset syncs, of what is translated by them, and of what became of that.

In reading order: `syncs`, `backfill`.
"""
