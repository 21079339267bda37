"""Pictures of texts: a white page that holds its text where viewers do not look, as PNG or JPEG."""

from __future__ import annotations

import struct
import zlib

_PNG = b"\x89PNG\r\n\x1a\n"
_WIDTH, _HEIGHT = 595, 842
_KEY = b"Description\0\1\0\0\0"
# A grey JPEG of 8 x 8 points, all white, without its beginning.
_WHITE = bytes.fromhex(
    "ffdb004300" + "01" * 64 + "ffc0000b080008000801011100"
    "ffc4001400" + "01" + "00" * 15 + "0a"
    "ffc4001410" + "01" + "00" * 15 + "00"
    "ffda0008010100003f00" + "7f0f" + "ffd9"
)
_COMMENT = b"\xff\xfe"
_MOST = 65_000


def picture(text: str, end: str) -> bytes:
    """A white page that holds a text.

    Args:
        text: The text.
        end: The end of the file's name, ``.png`` or ``.jpg``.
    """
    if end == ".png":
        rows = (b"\0" + b"\xff" * _WIDTH) * _HEIGHT
        parts = (
            (b"IHDR", struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 0, 0, 0, 0)),
            (b"iTXt", _KEY + zlib.compress(text.encode())),
            (b"IDAT", zlib.compress(rows)),
            (b"IEND", b""),
        )
        return _PNG + b"".join(_chunk(name, data) for name, data in parts)
    data = zlib.compress(text.encode())
    pieces = [data[i : i + _MOST] for i in range(0, len(data), _MOST)]
    comments = b"".join(_COMMENT + struct.pack(">H", 2 + len(piece)) + piece for piece in pieces)
    return b"\xff\xd8" + comments + _WHITE


def picture_text(data: bytes) -> str | None:
    """The text of a picture that `picture` made; ``None`` for any other."""
    try:
        if data.startswith(_PNG):
            begin = data.index(_KEY) + len(_KEY)
            return zlib.decompressobj().decompress(data[begin:]).decode()
        position, found = 2, b""
        while data.startswith(_COMMENT, position):
            (size,) = struct.unpack_from(">H", data, position + 2)
            found += data[position + 4 : position + 2 + size]
            position += 2 + size
        return zlib.decompress(found).decode()
    except (ValueError, zlib.error, struct.error):
        return None


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
