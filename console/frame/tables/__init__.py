"""Tables: sorted, filtered, cut into pages and exported.

In reading order: `table`, `columns`, `page`, `csv_export`.
"""
