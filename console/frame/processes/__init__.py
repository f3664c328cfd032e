"""The processes of crosslog on one machine, and what long-lived ones share.

In reading order: `programs`, `supervisor`, `alive`, `only_one`, `commands`, `threads`, `turns`,
`garbage`, `demonstration`, `visitor`.
"""
