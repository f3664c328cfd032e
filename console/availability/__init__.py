"""Which partitions can be written, since when not, and what would be lost.

Sub-rooms: `status`, `collection`, `what_if`, `controller_sites`, `placements`, `designer`,
`promotion`, `advice`, `acting`, `drills`, `runbooks`.

In reading order: `apps`, `urls`, `models`, `page_context`, `api_lookup`, `navigation`,
`queries`, `tasks`.
"""
