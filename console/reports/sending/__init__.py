"""Reports on their way to recipients.

In reading order: `contents`, `message`, `source`.
"""
