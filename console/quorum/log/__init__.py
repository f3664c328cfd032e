"""Metadata logs: followed, folded into rows, imported, and kept for a while.

In reading order: `follower`, `archives`, `log_fold`, `change_rows`, `change_texts`, `gaps`, `store`,
`records`, `imports`, `import_actions`, `import_api`, `import_pages`.
"""
