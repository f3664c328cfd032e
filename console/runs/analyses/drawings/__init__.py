"""Drawings of tables of an answer, made on the server.

In reading order: `shapes`, `lines`, `charts`.
"""
