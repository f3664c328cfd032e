"""Extractors: closed forms that say where of a record id, step, time, parent and error are.

No code and no expression is evaluated: a field is a place, a JSON pointer and a form out of a list.

In reading order: `fields`, `forms`, `roles`, `extractor`, `presets`, `plain`, `slices`, `columns`,
`decoding`, `samples`.
"""
