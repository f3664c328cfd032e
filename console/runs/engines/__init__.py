"""Engines: Spark applications that run the runs of several flows, or analyses; a row each.

In reading order: `models`, `queries`, `actions`, `watch`, `tables`, `pages`, `api`.
"""
