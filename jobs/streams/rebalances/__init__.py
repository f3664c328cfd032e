"""Rebalances of an application: what each one changed, and why as far as the group shows it.

In reading order: `changes`, `comparison`.
"""
