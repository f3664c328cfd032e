"""Carries out promotions: confirmed by users or due by policies, verified, reverted.

In reading order: `promoter`, `work`, `door`, `models`, `store`, `partition_epochs`.
"""
