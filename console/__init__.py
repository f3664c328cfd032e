"""Everything that is stored, shown, scheduled, allowed: Django, REST, Celery. Never imports pyspark.

Rooms: `overview`, `clusters`, `replication`, `quorum`, `availability`, `streams`, `tracing`, `reports`,
`runs`, `schedules`, `delivery`, `notifications`, `findings`, `checks`, `accounts`, `metrics`, `frame`.

In reading order: `settings`, `env`, `urls`, `api_urls`, `celery`, `broker`, `probes`, `wsgi`.
"""
