"""What all pages share.

In reading order: `own_pages`, `render`, `context`, `navigation`, `rail`, `timerange`, `freshness`,
`states`, `numbers`, `events`, `lanes`, `sparkline`, `forms`, `uploads`, `addresses`, `error_pages`.
"""
