"""A placement designed from wishes, explained, with what it survives and its commands.

In reading order: `requirements`, `input`, `design`, `split`, `cluster`, `survival`, `model`, `explanations`,
`commands`.
"""
