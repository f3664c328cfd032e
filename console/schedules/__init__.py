"""Schedules: cron expressions in a time zone, and their runs.

Other apps register the jobs that can be scheduled (`starters`), in the `ready` of their `AppConfig`.

In reading order: `apps`, `urls`, `models`, `starters`, `timing`, `queries`, `firing`, `actions`,
`api`, `pages`, `navigation`, `tasks`.
"""
