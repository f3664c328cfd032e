"""What-if over collected clusters: asked, simulated, shown.

In reading order: `api`, `serializers`, `pages`, `forms`, `asking`, `facts`, `steps_text`,
`cluster_models`, `picture_reading`, `cluster_pictures`, `units`, `simulating`, `matrices`,
`matrix_store`, `recent`, `paging`.
"""
