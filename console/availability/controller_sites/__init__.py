"""Where controllers stand that are no brokers.

In reading order: `sites`, `api`, `pages`.
"""
