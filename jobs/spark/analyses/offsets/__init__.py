"""Analyses of offset syncs, of what is translated by them, and of what became of that.

Sub-rooms: `bulk`, `backtesting`.

In reading order: `syncs`, `translate`, `refine`, `backtest`, `backfill`.
"""
