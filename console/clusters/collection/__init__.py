"""Collection rounds: ask a cluster, apply the rules, write rows and a freshness row.

In reading order: `collect`, `door`, `brokers`, `topics`, `stuck`, `groups`,
`group_rows`, `rows`, `outcome`.
"""
