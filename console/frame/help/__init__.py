"""Help: the documents of docs/ as pages of the console.

`chapters` lists the documents and says which one a page of the console links, `rendering` makes HTML of
Markdown, `pages` and `urls` serve both.
"""
