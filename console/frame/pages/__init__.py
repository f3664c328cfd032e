"""What all pages share.

In reading order: `render`, `search`, `navigation`, `timerange`, `freshness`,
`states`, `state_timeline`, `forms`, `uploads`, `addresses`, `error_pages`.
"""
