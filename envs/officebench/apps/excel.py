# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""Tables: files of the kind ``xlsx``."""

from __future__ import annotations

from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.envs.officebench.apps.base import CONVERTING, converted, existing, new_file
from simia_gym.envs.officebench.cells import cell_for, plain_lines, table_text, typed
from simia_gym.envs.officebench.slices import FILES
from simia_gym.errors import ToolError
from simia_gym.state import Draft


class Excel(World):
    """See the module."""

    @tool(reads=("desk/main", FILES))
    def excel_read_file(self, db: Draft, file_path: str) -> str:
        """Show the table in an Excel file, every cell with its row and column.

        Args:
            file_path: The path of the file.
        """
        _, row = existing(db, file_path, "xlsx", "Failed to read the file.")
        return f"The following is the table from the excel file:\n{table_text(row['cells'])}"

    @tool(effect="write", reads=("desk/main", FILES), writes=("files/*",), always_changes=True)
    def excel_set_cell(self, db: Draft, file_path: str, row_idx: int, column_idx: int, text: str | int | float) -> str:
        """Write into a cell of an Excel file. A text that is a number becomes one.

        Args:
            file_path: The path of the file.
            row_idx: The row, from 1.
            column_idx: The column, from 1.
            text: What to write.
        """
        failed = "Failed to write to the file."
        path, _ = existing(db, file_path, "xlsx", failed)
        cell, value = cell_for(row_idx, column_idx, failed), typed(text, failed)
        if value == "":
            raise ToolError(failed, "bad_text", "The text is empty; delete_cell empties a cell.")
        db.edit("files", path)["cells"][cell] = value
        return f"Successfully write text to {path}"

    @tool(effect="write", reads=("desk/main", FILES), writes=("files/*",))
    def excel_delete_cell(self, db: Draft, file_path: str, row_idx: int, column_idx: int) -> str:
        """Empty a cell of an Excel file.

        Args:
            file_path: The path of the file.
            row_idx: The row, from 1.
            column_idx: The column, from 1.
        """
        failed = "Failed to delete the cell in the file."
        path, _ = existing(db, file_path, "xlsx", failed)
        db.edit("files", path)["cells"].pop(cell_for(row_idx, column_idx, failed), None)
        return f"Successfully delete a cell in {path}"

    @tool(effect="write", reads=("desk/main", FILES), writes=("files/*",), always_changes=True)
    def excel_create_new_file(self, db: Draft, file_path: str) -> str:
        """Make an Excel file with an empty table.

        Args:
            file_path: The path of the new file.
        """
        path = new_file(db, file_path, "xlsx", "Failed to create the file.")
        db.put("files", path, {"kind": "xlsx", "cells": {}})
        return f"Successfully create a new excel file at {path}"

    @tool(effect="write", reads=("desk/main", FILES), writes=("files/*",), always_changes=True)
    def excel_convert_to_pdf(self, db: Draft, excel_file_path: str, pdf_file_path: str) -> str:
        """Print an Excel file into a PDF file.

        Args:
            excel_file_path: The path of the Excel file.
            pdf_file_path: The path of the new PDF file.
        """
        _, row = existing(db, excel_file_path, "xlsx", CONVERTING)
        return converted(db, excel_file_path, plain_lines(row["cells"]), pdf_file_path, "pdf")
