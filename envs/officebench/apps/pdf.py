# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""Printed pages: files of the kind ``pdf``."""

from __future__ import annotations

from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.envs.officebench.apps.base import CONVERTING, converted, existing
from simia_gym.envs.officebench.slices import FILES
from simia_gym.state import Draft


class Pdf(World):
    """See the module."""

    @tool(reads=("desk/main", FILES))
    def pdf_read_file(self, db: Draft, pdf_file_path: str) -> str:
        """Show the text of a PDF file.

        Args:
            pdf_file_path: The path of the file.
        """
        _, row = existing(db, pdf_file_path, "pdf", "Failed to read the file.")
        return "\n".join(row["paragraphs"])

    @tool(effect="write", reads=("desk/main", FILES), writes=("files/*",), always_changes=True)
    def pdf_convert_to_word(self, db: Draft, pdf_file_path: str, word_file_path: str) -> str:
        """Make a Word file of a PDF file.

        Args:
            pdf_file_path: The path of the PDF file.
            word_file_path: The path of the new Word file.
        """
        _, row = existing(db, pdf_file_path, "pdf", CONVERTING)
        return converted(db, pdf_file_path, row["paragraphs"], word_file_path, "docx")

    @tool(effect="write", reads=("desk/main", FILES), writes=("files/*",), always_changes=True)
    def pdf_convert_to_image(self, db: Draft, pdf_file_path: str, image_file_path: str) -> str:
        """Make a picture of a PDF file. No app of this office reads pictures.

        Args:
            pdf_file_path: The path of the PDF file.
            image_file_path: The path of the new picture, which ends with .png or .jpg.
        """
        _, row = existing(db, pdf_file_path, "pdf", CONVERTING)
        return converted(db, pdf_file_path, row["paragraphs"], image_file_path, "image")
