"""The backtest of translations: what was said of offsets, beside where their records really are.

In reading order: `truth`, `judging`, `reading`, `checkpoint_log`, `partition`, `works`,
`judged_rows`.
"""
