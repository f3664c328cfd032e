"""Kinds of analysis of events that move through topics.

In reading order: `extracting`.
"""
