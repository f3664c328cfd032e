"""Patterns that people give: Java's regular expressions and globs, evaluated by RE2.

No text of a person, and none out of a file, reaches Python's `re` as a pattern: it tries one way
after the other, and some patterns have more ways than there is time. RE2 reads every name once.

In reading order: `java`, `matching`.
"""
