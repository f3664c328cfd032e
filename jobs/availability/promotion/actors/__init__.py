"""The four ways to get another replica into an ISR: who can use which, and at which price.

In reading order: `kinds`, `catalogue`, `facts`, `commands`.
"""
