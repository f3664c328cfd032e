"""The signed report of a failover, for programs and for people.

In reading order: `report`, `signing`, `forms`.
"""
