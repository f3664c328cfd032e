"""Availability of partitions: state, history, failure simulation, promotion.

Sub-rooms: `status`, `collection`, `what_if`, `controller_sites`, `placements`, `designer`,
`promotion`, `advice`, `acting`, `drills`, `runbooks`.

In reading order: `apps`, `urls`, `models`, `page_context`, `api_lookup`, `navigation`,
`watched`, `queries`, `tasks`.
"""
