"""The overview: incidents, map of clusters and flows, charts, recent events.

In reading order: `apps`, `urls`, `pages`, `queries`, `map`, `picture`, `charts`, `events`,
`analysis_events`, `first_steps`.
"""
