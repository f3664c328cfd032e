"""How the load of an application is spread, and what is sound to change.

In reading order: `load`, `advice`.
"""
