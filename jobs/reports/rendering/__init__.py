"""A document in the formats in which it is sent; the same document gives the same bytes.

In reading order: `formats`, `wording`, `html`, `mail`, `printable`, `pdf`, `table_widths`,
`charts`, `csv_files`. `report.typ` and `plain.typ` are the print's templates.
"""
