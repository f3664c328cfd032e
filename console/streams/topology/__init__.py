"""Topologies as pictures.

In reading order: `drawing`.
"""
