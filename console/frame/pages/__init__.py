"""What all pages share.

In reading order: `render`, `navigation`, `timerange`, `freshness`,
`states`, `state_timeline`, `forms`, `uploads`, `addresses`, `error_pages`.
"""
