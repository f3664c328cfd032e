"""How the load of one application is spread, with advice: page and REST.

In reading order: `told`, `pages`, `serializers`.
"""
