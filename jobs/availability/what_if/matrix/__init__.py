"""Many losses at once over many partitions, with arrays: the same answers as `simulate`.

In reading order: `matrix`, `tables`, `rules`, `standbys`, `counts`.
"""
