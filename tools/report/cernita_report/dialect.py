"""The report's SQL is SQLite's; what PostgreSQL writes otherwise is in this table."""
import re

# From top to bottom; each is found in the text that those above have left.
_POSTGRESQL = tuple((re.compile(pattern), text) for pattern, text in (
    (r" INDEXED BY \w+", ""),  # which index is taken is the planner's choice
    (r"\bCROSS JOIN (\w+(?: \w+)?) (USING|ON)\b", r"JOIN \1 \2"),  # of SQLite the order of loops
    (r"\bIFNULL\(", "COALESCE("),
    (r"\bIS NOT (?=LAG\()", "IS DISTINCT FROM "),
    (r"\bCAST\(([^()]*) AS INTEGER\)", r"TRUNC(\1)::bigint"),
    (r"\bchar\(", "chr("),
    (r"\btemp\.", "pg_temp."),
    (r"(?<![\w.])\d+\.\d+\b", r"\g<0>::float8"),  # else decimal, of another precision
))


def to_postgresql(sql):
    for pattern, text in _POSTGRESQL:
        sql = pattern.sub(text, sql)
    return sql
