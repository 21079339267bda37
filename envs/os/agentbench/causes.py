"""What a sandbox has not, and how a task's scripts show that they need it.

They are scanned, not understood: texts in quotes, comments and here-documents are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

USERS, NETWORK = "it needs several users", "it needs the network"
PROCESS, FOLDERS = "it needs a process that outlives a command", "it needs folders that are read-only here"

_BEGIN = r"(?:^|[;&|({]|\b(?:then|do|else|exec|sudo|time)\b)[ \t]*"
_ELSEWHERE = r"/(?:bin|boot|etc|lib|lib64|media|mnt|opt|sbin|usr)\b"
_SIGNS = {
    USERS: rf"{_BEGIN}(?:useradd|adduser|usermod|userdel|groupadd|addgroup|chpasswd|passwd|chown|chgrp|su|runuser)\b",
    NETWORK: rf"{_BEGIN}(?:(?:apt|apt-get|pip3?|npm)[ \t]+(?:-\S+[ \t]+)*(?:install|update)\b|git[ \t]+clone\b"
    r"|(?:curl|wget|ping|ssh|scp|nc|telnet)[ \t])",
    PROCESS: rf"{_BEGIN}(?:nohup|disown|setsid|crontab|systemctl|service)\b|(?<![&>|;])&[ \t]*(?:$|[)}}])",
    FOLDERS: rf">[ \t]*{_ELSEWHERE}|{_BEGIN}(?:mkdir|touch|tee)\b[^\n;&|]*[ \t]{_ELSEWHERE}"
    rf"|{_BEGIN}(?:cp|mv|ln|install)\b[^\n;&|]*[ \t]{_ELSEWHERE}\S*[ \t]*$",
}
_NEEDS = {name: re.compile(sign, re.MULTILINE) for name, sign in _SIGNS.items()}
_HERE = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1(.*\n)(?:.*\n)*?[ \t]*\2[ \t]*$", re.MULTILINE)
_TEXT = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|(?:^|(?<=[ \t;]))#.*$", re.MULTILINE)


def cause(scripts: Iterable[str]) -> str:
    """Why these scripts of bash cannot run here as they should; nothing if they can."""
    for script in scripts:
        plain = _TEXT.sub(_blank, _HERE.sub(r"\3", script))
        for name, sign in _NEEDS.items():
            if sign.search(plain):
                return name
    return ""


def _blank(found: re.Match[str]) -> str:
    return "" if found[0].startswith("#") else "''"
