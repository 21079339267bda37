"""Writes printed pages: a PDF of lines of text, which also holds its text exactly."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from simia_gym.envs.officebench.formats.reading import PAGE_TEXT

_WIDTH, _LINES = 95, 54
_HEAD = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"


def page_bytes(paragraphs: Sequence[str]) -> bytes:
    """A PDF of paragraphs. Characters that its font lacks are drawn as question marks."""
    lines = [line for text in paragraphs for line in textwrap.wrap(text, _WIDTH) or [""]]
    pages = [lines[i : i + _LINES] for i in range(0, len(lines), _LINES)] or [[]]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for page in pages:
        drawn = b"BT /F1 10 Tf 50 790 Td 14 TL\n" + b"".join(_drawn(line) for line in page) + b"ET\n"
        number = len(objects) + 2
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            b"/Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % number
        )
        objects.append(b"<< /Length %d >>\nstream\n%sendstream" % (len(drawn), drawn))
    text = "\n".join(paragraphs).encode("utf-16-be")
    objects.append(b"<< %s <feff%s> >>" % (PAGE_TEXT.encode(), text.hex().encode()))
    return _file(objects)


def _drawn(line: str) -> bytes:
    data = line.encode("cp1252", "replace")
    for mark in (b"\\", b"(", b")"):
        data = data.replace(mark, b"\\" + mark)
    return b"(%s) Tj T*\n" % data


def _file(objects: Sequence[bytes]) -> bytes:
    """The objects, numbered from 1; the first is the catalogue, the last the information."""
    out, places = bytearray(_HEAD), list[int]()
    for number, item in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (len(objects) + 1, len(objects))
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)
