"""Kinds about consumer groups, from the records that their coordinators write.

In reading order: `reading`, `following`, `assignments`, `rebalances`.
"""
