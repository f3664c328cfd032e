"""Reports: what is told of a period, as one document, and the formats in which it is sent.

Sub-rooms: `kinds` (what each kind of report tells, from recorded data), `rendering` (HTML, PDF, CSV, JSON).

In reading order: `values`, `document`, `periods`.
"""
