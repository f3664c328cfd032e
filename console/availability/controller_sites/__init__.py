"""Sites of controllers that are not brokers.

In reading order: `sites`, `api`, `pages`.
"""
