"""Questions that Spark answers: asked by a form or a route, queued, answered, shown.

Other rooms say which logs there are (`sources`), in the `ready` of their `AppConfig`.

In reading order: `sources`, `questions`, `spec`, `results`, `queue`, `watch`, `actions`, `values`,
`charts`, `downloads`, `serializers`, `api`, `forms`, `page_context`, `pages`, `starter`.
"""
