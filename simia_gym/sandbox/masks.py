"""What no command can repeat, as regular expressions for a tool's masks."""

from __future__ import annotations

_CLOCK = r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[AP]M)?"
_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
MASKS = (
    rf"\b\d{{4}}-\d\d-\d\d(?:[ T]{_CLOCK}(?: ?[+-]\d{{4}}|Z)?)?",  # 2026-11-27 18:20:36.123 +0000
    rf"\b{_DAY}{_MONTH} {{1,2}}\d{{1,2}}(?: +(?:{_CLOCK}|\d{{4}})\b)?(?: [A-Z]{{3}} \d{{4}})?",
    rf"\b{_CLOCK}\b",
    r"\b1[6-9]\d{8}(?:\.\d+)?\b",  # seconds since 1970
    r"\b\d+\.\d+\.\d+-[\w.-]+",  # the kernel
    r"\btmp\.\w{10}\b",  # mktemp
)
"""Dates and times of day, seconds since 1970, the kernel's version, random names of temporary files."""
