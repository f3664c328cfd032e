"""Promotion advice: evaluation of the rules, as advice, events and findings.

In reading order: `models`, `round`, `evaluation`, `store`, `findings`, `leader_balance`, `tasks`.
"""
