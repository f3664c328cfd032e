"""Numbers for Prometheus, read from the database in a constant number of queries.

In reading order: `apps`, `urls`, `pages`, `collector`, `counters`, `availability`, `promotion`,
`quorum`, `definition`, `definitions`, `dashboard`, `dashboard_rows`.
"""
