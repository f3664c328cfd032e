"""What all pages share.

In reading order: `own_pages`, `render`, `context`, `navigation`, `badges`, `timerange`, `freshness`,
`states`, `events`, `state_timeline`, `sparkline`, `forms`, `uploads`, `addresses`, `error_pages`.
"""
