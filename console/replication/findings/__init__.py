"""What fails in flows without a word: looked at in rounds, kept, shown.

In reading order: `models`, `collect`, `snapshot`, `api`, `pages`.
"""
