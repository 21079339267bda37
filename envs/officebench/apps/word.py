# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""Documents: files of the kind ``docx``."""

from __future__ import annotations

from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.envs.officebench.apps.base import CONVERTING, converted, document, existing, new_file
from simia_gym.envs.officebench.slices import FILES
from simia_gym.envs.officebench.texts import lines_of, problem_of
from simia_gym.errors import ToolError
from simia_gym.state import Draft


class Word(World):
    """See the module."""

    @tool(effect="write", reads=("desk/main", FILES), writes=("files/*",), always_changes=True)
    def word_create_new_file(self, db: Draft, file_path: str) -> str:
        """Make an empty Word file.

        Args:
            file_path: The path of the new file.
        """
        path = new_file(db, file_path, "docx", "Failed to create the file.")
        db.put("files", path, document("docx", []))
        return f"Successfully create a new word file at {path}"

    @tool(reads=("desk/main", FILES))
    def word_read_file(self, db: Draft, file_path: str) -> str:
        """Show the text of a Word file.

        Args:
            file_path: The path of the file.
        """
        _, row = existing(db, file_path, "docx", "Failed to read the file.")
        return "The following is the text from the word file:\n" + "\n".join(row["paragraphs"])

    @tool(effect="write", reads=("desk/main", FILES), writes=("files/*",), always_changes=True)
    def word_write_to_file(self, db: Draft, file_path: str, contents: str) -> str:
        """Add a text at the end of a Word file that exists; every line becomes a paragraph, in the same order.

        Args:
            file_path: The path of the file.
            contents: The text.
        """
        failed = "Failed to write to the file."
        path, _ = existing(db, file_path, "docx", failed)
        if problem := problem_of(contents) or ("" if contents.strip() else "is empty"):
            raise ToolError(failed, "bad_text", f"The text {problem}.")
        db.edit("files", path)["paragraphs"] += lines_of(contents.rstrip("\r\n"))
        return f"Successfully write contents to {path}"

    @tool(effect="write", reads=("desk/main", FILES), writes=("files/*",), always_changes=True)
    def word_convert_to_pdf(self, db: Draft, word_file_path: str, pdf_file_path: str) -> str:
        """Print a Word file into a PDF file.

        Args:
            word_file_path: The path of the Word file.
            pdf_file_path: The path of the new PDF file.
        """
        _, row = existing(db, word_file_path, "docx", CONVERTING)
        return converted(db, word_file_path, row["paragraphs"], pdf_file_path, "pdf")
