"""Analyses by Spark: started by a form or a route, queued, run, shown.

Other apps register their logs, flows and clusters (`sources`), in the `ready` of their `AppConfig`.

Sub-rooms: `drawings`.

In reading order: `sources`, `questions`, `spec`, `results`, `queue`, `watch`, `actions`, `values`,
`downloads`, `serializers`, `api`, `forms`, `page_context`, `pages`, `starter`.
"""
