"""Writing a configuration of MirrorMaker 2 back, in any of its forms, or as flows of crosslog.

In reading order: `forms`, `properties`, `connect`, `strimzi`, `crosslog`.
"""
