"""Writes documents: paragraphs, put into the original where they differ from it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from simia_gym.envs.officebench.formats.packing import packed, unpacked
from simia_gym.envs.officebench.formats.reading import library


def document_bytes(paragraphs: Sequence[str], original: bytes | None) -> bytes:
    """A document with these paragraphs; those that the original has keep their styles and what else is in them."""
    docx = library("docx", "python-docx")
    document = docx.Document(None if original is None else io.BytesIO(original))
    there = list(document.paragraphs)
    have = [paragraph.text for paragraph in there]
    for _, low, high, first, last in reversed(SequenceMatcher(None, have, paragraphs, autojunk=False).get_opcodes()):
        old, new = there[low:high], paragraphs[first:last]
        if [*have[low:high]] == [*new]:
            continue
        for paragraph, text in zip(old, new, strict=False):
            paragraph.text = text
        for paragraph in old[len(new) :]:
            paragraph._p.getparent().remove(paragraph._p)
        for text in reversed(new[len(old) :]):
            _add(document, there[low + min(len(old), len(new)) - 1] if low + len(old) else None, text)
    out = io.BytesIO()
    document.save(out)
    return packed(unpacked(out.getvalue()))


def _add(document: Any, after: Any, text: str) -> None:
    """Put a paragraph behind another one, or before everything."""
    new = document.add_paragraph(text)
    if after is not None:
        after._p.addnext(new._p)
    else:
        document.element.body.insert(0, new._p)
