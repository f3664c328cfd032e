"""A placement designed from wishes, explained, with what it survives and its commands.

In reading order: `wish`, `input`, `design`, `split`, `cluster`, `survival`, `parts`, `words`,
`commands`.
"""
