"""The cells of one sheet as XML: they are set and emptied in place, and nothing else of the sheet is touched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, time
from typing import Any, TypeAlias

from simia_gym.envs.officebench.cells import CellValue, name_of, place_of
from simia_gym.envs.officebench.formats.reading import library

Element: TypeAlias = Any
Restyle: TypeAlias = Callable[[int, str], int]
"""Gives for a style and ``number``, ``date`` or ``time`` the style alike in which such a value is shown as such."""
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


class Sheet:
    """See the module.

    Args:
        data: The XML of the sheet.
        cells: The values that it holds, by name.
        restyle: See `Restyle`.
        epoch: The day from which the workbook counts.
    """

    def __init__(self, data: bytes, cells: Mapping[str, CellValue], restyle: Restyle, epoch: datetime) -> None:
        etree = library("lxml.etree", "lxml")
        self.root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, huge_tree=True))
        self.cells, self._restyle, self._epoch = cells, restyle, epoch
        self._space = self.root.tag.partition("}")[0] + "}"
        self._rows: dict[int, Element] = {}
        self._cells: dict[tuple[int, int], Element] = {}
        self._index()

    def find(self, name: str) -> Element:
        """A part of the sheet; ``None`` if it has none."""
        return self.root.find(f"{self._space}{name}")

    def xml(self) -> bytes:
        """The sheet as XML."""
        etree = library("lxml.etree", "lxml")
        return bytes(etree.tostring(self.root, xml_declaration=True, encoding="UTF-8", standalone=True))

    def change(self, changes: Mapping[str, CellValue | None]) -> None:
        """Set cells, or empty those whose value is ``None``."""
        self._free_formulas(changes)
        self._unmerge({place_of(name) for name, value in changes.items() if value is not None})
        for name, value in changes.items():
            place = place_of(name)
            cell = self._cells.get(place)
            if value is None:
                if cell is not None:
                    self._clear(cell)
                continue
            cell = self._new(place) if cell is None else cell
            self._clear(cell)
            self._fill(cell, value)
        for cell in self._cells.values():  # what formulas gave is old
            if cell.find(f"{self._space}f") is not None:
                for result in cell.findall(f"{self._space}v"):
                    cell.remove(result)
                cell.attrib.pop("t", None)
        size = self.find("dimension")
        if size is not None and self._cells:
            rows, columns = zip(*self._cells, strict=True)
            size.set("ref", f"{name_of(min(rows), min(columns))}:{name_of(max(rows), max(columns))}")

    def _index(self) -> None:
        """Find all cells; a row or a cell without a number follows the one before it."""
        number = 0
        for row in self.find("sheetData"):
            number, column = int(row.get("r", number + 1)), 0
            self._rows[number] = row
            row.set("r", str(number))
            for cell in row.findall(f"{self._space}c"):
                column = place_of(cell.get("r"))[1] if cell.get("r") else column + 1
                cell.set("r", name_of(number, column))
                self._cells[number, column] = cell

    def _new(self, place: tuple[int, int]) -> Element:
        """A new cell, behind those that stand before it."""
        number, column = place
        row = self._rows.get(number)
        if row is None:
            row = self._rows[number] = self._made("row", r=str(number))
            before = [one for one in self._rows if one < number]
            sheet = self.find("sheetData")
            sheet.insert(0 if not before else sheet.index(self._rows[max(before)]) + 1, row)
        row.attrib.pop("spans", None)
        cell = self._cells[place] = self._made("c", r=name_of(number, column))
        after = [one for one in row.findall(f"{self._space}c") if place_of(one.get("r"))[1] < column]
        row.insert(row.index(after[-1]) + 1 if after else 0, cell)
        return cell

    def _clear(self, cell: Element) -> None:
        for inside in list(cell):
            cell.remove(inside)
        for mark in ("t", "cm", "vm"):
            cell.attrib.pop(mark, None)

    def _fill(self, cell: Element, value: CellValue) -> None:
        serial = self._serial(value)
        if serial is not None:
            kind, number = serial
            cell.set("s", str(self._restyle(int(cell.get("s", 0)), kind)))
            cell.append(self._made("v", repr(number)))
        elif isinstance(value, bool):
            cell.set("t", "b")
            cell.append(self._made("v", str(int(value))))
        elif isinstance(value, int | float):
            cell.set("s", str(self._restyle(int(cell.get("s", 0)), "number")))
            cell.append(self._made("v", repr(value)))
        elif isinstance(value, Mapping) and "formula" in value:
            cell.append(self._made("f", value["formula"].removeprefix("=")))
        else:
            text = value if isinstance(value, str) else str(next(iter(value.values())))
            inside = self._made("t", text)
            inside.set(_XML_SPACE, "preserve")
            cell.set("t", "inlineStr")
            cell.append(self._made("is"))
            cell[0].append(inside)

    def _serial(self, value: CellValue) -> tuple[str, float] | None:
        """What kind of moment a value is, and its number; ``None`` if it is none that a workbook counts."""
        if not isinstance(value, Mapping) or "formula" in value:
            return None
        to_excel = library("openpyxl.utils.datetime", "openpyxl").to_excel
        try:
            if "time" in value:
                return "time", float(to_excel(time.fromisoformat(value["time"]), self._epoch))
            moment = datetime.fromisoformat(value["date"])
            return ("date", float(to_excel(moment, self._epoch))) if moment.year > self._epoch.year else None
        except ValueError:
            return None

    def _free_formulas(self, changes: Mapping[str, CellValue | None]) -> None:
        """Write out formulas that others share with one that is changed."""
        shared: dict[str, list[Element]] = {}
        lost: set[str] = set()
        for cell in self._cells.values():
            formula = cell.find(f"{self._space}f")
            if formula is not None and formula.get("t") == "shared":
                shared.setdefault(formula.get("si"), []).append(cell)
                if formula.get("ref") and cell.get("r") in changes:
                    lost.add(formula.get("si"))
        for group in lost:
            for cell in shared[group]:
                value = self.cells.get(cell.get("r"))
                self._clear(cell)
                if value is not None:
                    self._fill(cell, value)

    def _unmerge(self, places: set[tuple[int, int]]) -> None:
        """Part merged cells of which another than the first gets a value, which would not be seen."""
        merged = self.find("mergeCells")
        if merged is None:
            return
        for area in list(merged):
            low, _, high = area.get("ref").partition(":")
            (top, left), (bottom, right) = place_of(low), place_of(high or low)
            inside = {(r, c) for r, c in places if top <= r <= bottom and left <= c <= right}
            if inside - {(top, left)}:
                merged.remove(area)
        merged.set("count", str(len(merged)))
        if not len(merged):
            self.root.remove(merged)

    def _made(self, name: str, text: str | None = None, **attributes: str) -> Element:
        element = self.root.makeelement(f"{self._space}{name}", attributes, self.root.nsmap)
        element.text = text
        return element
