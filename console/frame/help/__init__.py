"""Help: the documents of docs/ as pages of the console, and the chapter that each page links.

In reading order: `chapters`, `rendering`, `pages`, `urls`.
"""
