"""A document in the formats in which it is sent; the same document gives the same bytes.

In reading order: `formats`, `wording`, `html`, `mail`, `pdf`, `table_widths`, `charts`, `csv_files`.
`report.typ` is the print's template.
"""
