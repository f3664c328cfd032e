"""Collection rounds: query a cluster, apply the rules, write rows and a freshness row.

In reading order: `collect`, `requests`, `brokers`, `topics`, `stuck`, `groups`, `group_rows`, `rows`.
"""
