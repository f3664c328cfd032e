"""Rounds of availability: news of partitions from the metadata log or from polls, taken in.

In reading order: `collect`, `from_log`, `from_poll`, `ledger`, `ledger_rows`, `stretches`,
`count_book`, `min_isr_book`, `role_book`, `lag`, `retention`, `listening`.
"""
