"""Analyses of offset syncs, of what is translated by them, and of what became of that.

Sub-rooms: `backtesting`.

In reading order: `syncs`, `backtest`.
"""
