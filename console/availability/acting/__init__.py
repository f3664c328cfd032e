"""Acting: what was asked for, and what policies want, is done, verified and taken back.

In reading order: `promoter`, `work`, `door`, `models`, `store`, `partition_epochs`.
"""
