"""Rounds that advise: what the rules say of a cluster's observers, as advice, events and findings.

In reading order: `models`, `round`, `evaluation`, `store`, `findings`, `leader_balance`, `tasks`.
"""
