"""Records of the metadata log folded into an image, one family per file.

In reading order: `fold`, `record`, `topics`, `brokers`, `settings`.
"""
