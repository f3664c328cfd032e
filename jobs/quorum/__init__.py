"""KRaft: the metadata log replayed, voter sets, elections, and what the cluster looked like at any moment.

Sub-rooms: `log`, `image`, `fold`, `history`, `replay`, `log_tables`, `voters`, `timeline`,
`health`, `advisor`.
"""
