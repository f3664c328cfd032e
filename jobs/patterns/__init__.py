"""Patterns that people give: `java` reads them, `character_classes` holds their sets, `matching` runs them.

No text of a person, and none out of a file, reaches Python's `re` as a pattern: it tries one way after the
other, and some patterns have more ways than there is time. RE2 reads every name once.
"""
