"""What is started again and again: a cron expression in a time zone, and what happened each time.

Other rooms say what can be started (`starters`), in the `ready` of their `AppConfig`.

In reading order: `apps`, `urls`, `models`, `starters`, `timing`, `queries`, `firing`, `actions`,
`api`, `pages`, `navigation`, `tasks`.
"""
