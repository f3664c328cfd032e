"""What-if over collected clusters: asked, simulated, shown.

In reading order: `api`, `serializers`, `pages`, `forms`, `query`, `steps_text`,
`cluster_models`, `snapshot_reader`, `gaps`, `cluster_snapshots`, `partition_classes`,
`simulation`, `matrices`, `recent`.
"""
