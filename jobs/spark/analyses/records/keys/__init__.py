"""What `key-skew` finds out about keys: counts in bounded memory, and what placed them.

In reading order: `summaries`, `placement`, `counting`, `rows`.
"""
