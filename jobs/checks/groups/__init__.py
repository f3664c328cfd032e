"""Checks of consumer groups. A verdict needs numbers: what is not known finds nothing.

In reading order: `state`, `lag`, `activity`, `memory`.
"""
