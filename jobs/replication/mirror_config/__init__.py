"""MirrorMaker 2's configuration, wherever it is written: what it means per flow, what is wrong with it.

Sub-rooms: `read`, `lint`, `export`.

In reading order: `catalogue`, `values`, `naming`, `patterns`, `facts`, `redaction`, `report`.
"""
