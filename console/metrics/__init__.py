"""Numbers for Prometheus, read from the database in a constant number of queries.

In reading order: `apps`, `urls`, `pages`, `collector`, `samples`, `incidents`, `definition`, `definitions`,
`dashboard`, `dashboard_rows`, `alert_rules`.
"""
