"""Extractors: what says where id, step, time and error of records are.

In reading order: `analysis_extractors`.
"""
