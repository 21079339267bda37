"""Archives, as workbooks and documents are: their parts in order, and packed so that equal parts give equal bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every part; an archive can hold none that is earlier."""


def unpacked(data: bytes) -> dict[str, bytes]:
    """The parts of an archive by name, in its order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: Mapping[str, bytes]) -> bytes:
    """An archive of parts, in their order."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            part = zipfile.ZipInfo(name, _TIME)
            part.compress_type, part.create_system = zipfile.ZIP_DEFLATED, 3
            archive.writestr(part, data)
    return out.getvalue()
