"""Reports of a period: the document, and the formats in which it is sent.

Sub-rooms: `kinds` (sections of each kind of report, from recorded data), `rendering` (HTML, PDF, CSV, JSON).

In reading order: `values`, `document`, `periods`.
"""
