"""The sending half of the batch path: produce requests, transactions and what a commit writes.

In reading order: `sending`, `producing`, `delivery`, `ending`, `ledger`, `internal_records`.
"""
