"""What dead letters are read, planned and sent again with.

In reading order: `letters`, `sources`, `resending`.
"""
