"""Extractors: what says where id, step, time and error of records are.

In reading order: `models`, `queries`, `analysis_extractors`, `actions`, `trial`, `forms`, `pages`,
`serializers`, `api`.
"""
