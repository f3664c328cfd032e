"""Analyses of offset syncs, of what is translated by them, and of what became of that.

Sub-room: `backtesting`.

In reading order: `syncs`, `backtest`.
"""
