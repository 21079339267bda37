"""Writes workbooks: the cells of the sheet that is open, put into the original where they differ from it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from simia_gym.envs.officebench.cells import CellValue, place_of, same, shown
from simia_gym.envs.officebench.formats.packing import packed, unpacked
from simia_gym.envs.officebench.formats.reading import file_row, library
from simia_gym.envs.officebench.formats.sheet import Sheet

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_SPREADSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_EMPTY = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
    f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
    'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" '
    f'ContentType="{_SPREADSHEET}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SPREADSHEET}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_SPREADSHEET}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><bookViews><workbookView/></bookViews><sheets>'
    '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets><calcPr/></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="{_OFFICE}/styles" '
    f'Target="styles.xml"/></Relationships>',
    "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><dimension ref="A1"/><sheetData/></worksheet>',
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font>'
    '</fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/>'
    "</fill></fills>"
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}
_FORMATS = {"number": "0", "date": "22", "time": "21"}
_CHAIN = "calcChain"


def workbook_bytes(cells: Mapping[str, CellValue], original: bytes | None) -> bytes:
    """A workbook with these cells; what else the original holds stays."""
    if original is None:
        parts, before = {name: (_HEAD + text).encode() for name, text in _EMPTY.items()}, {}
    else:
        parts, before = unpacked(original), file_row(original, "the original.xlsx")["cells"]
    changes: dict[str, CellValue | None] = {name: None for name in before if name not in cells}
    changes |= {name: value for name, value in cells.items() if not same(before.get(name), value)}
    return packed(_changed(parts, before, changes) if changes else parts)


def _changed(
    parts: dict[str, bytes], before: Mapping[str, CellValue], changes: Mapping[str, CellValue | None]
) -> dict[str, bytes]:
    main = _by_kind(parts, "")["officeDocument"]
    book, kinds = _xml(parts[main]), _by_kind(parts, main)
    styles = _Styles(parts[kinds["styles"]])
    counted_from = book.find("{*}workbookPr")
    old = counted_from is not None and counted_from.get("date1904") in ("1", "true")
    place = _open_sheet(book, parts, main)
    sheet = Sheet(parts[place], before, styles.alike, datetime(1904, 1, 1) if old else datetime(1899, 12, 30))  # noqa: DTZ001
    sheet.change(changes)
    _mend_tables(parts, place, sheet, changes)
    _compute_again(book)
    parts[place], parts[main] = sheet.xml(), _bytes(book)
    if styles.added:
        parts[kinds["styles"]] = _bytes(styles.root)
    for name in ("[Content_Types].xml", _references(main)):  # the order of computing is made anew
        root = _xml(parts[name])
        for item in list(root):
            if _CHAIN in (item.get("PartName") or item.get("Type") or ""):
                root.remove(item)
                parts[name] = _bytes(root)
    return {name: data for name, data in parts.items() if _CHAIN not in name}


def _open_sheet(book: Any, parts: Mapping[str, bytes], main: str) -> str:
    """The part of the sheet that is open when the workbook is opened."""
    view = book.find("{*}bookViews/{*}workbookView")
    sheets = book.findall("{*}sheets/{*}sheet")
    number = int(view.get("activeTab", 0)) if view is not None else 0
    open_one = sheets[number]
    key = next(value for name, value in open_one.attrib.items() if name.endswith("}id"))
    return dict(_targets(parts, main, by="Id"))[key]


def _targets(parts: Mapping[str, bytes], part: str, *, by: str) -> list[tuple[str, str]]:
    """The parts to which a part refers, by an attribute of the reference."""
    folder, rels = posixpath.dirname(part), parts.get(_references(part))
    if rels is None:
        return []
    return [(one.get(by), posixpath.normpath(posixpath.join("/", folder, one.get("Target")))[1:]) for one in _xml(rels)]


def _references(part: str) -> str:
    """The part that lists to what a part refers; for no part, to what the whole archive does."""
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{name}.rels")


def _by_kind(parts: Mapping[str, bytes], part: str) -> dict[str, str]:
    """The parts to which a part refers, by the last word of their kind."""
    return {kind.rpartition("/")[2]: target for kind, target in _targets(parts, part, by="Type")}


def _compute_again(book: Any) -> None:
    """Let the program that opens the workbook compute every formula."""
    found = book.find("{*}calcPr")
    if found is None:
        space = book.tag.partition("}")[0] + "}"
        found = book.makeelement(f"{space}calcPr", {}, book.nsmap)
        before = [
            one for one in book if re.search(r"\}(sheets|functionGroups|externalReferences|definedNames)$", one.tag)
        ]
        before[-1].addnext(found)
    found.set("fullCalcOnLoad", "1")


def _mend_tables(parts: dict[str, bytes], place: str, sheet: Sheet, changes: Mapping[str, CellValue | None]) -> None:
    """Rename columns of tables whose heads are changed; a table whose heads are no texts, or equal ones, is no more."""
    listed: Any = sheet.find("tableParts")
    for item in [] if listed is None else list(listed):
        key = next(value for name, value in item.attrib.items() if name.endswith("}id"))
        part = dict(_targets(parts, place, by="Id"))[key]
        table = _xml(parts[part])
        (top, left), (_, right) = (place_of(end) for end in table.get("ref").split(":"))
        heads = {c - left: value for (r, c), value in _placed(changes) if r == top and left <= c <= right}
        if not heads or table.get("headerRowCount") == "0":
            continue
        columns = table.findall("{*}tableColumns/{*}tableColumn")
        for number, value in heads.items():
            columns[number].set("name", shown(value) if isinstance(value, str) else "")
        names = [column.get("name").casefold() for column in columns]
        if "" in names or len(set(names)) < len(names):
            listed.remove(item)
        else:
            parts[part] = _bytes(table)
    if listed is not None:
        listed.set("count", str(len(listed)))
        if not len(listed):
            sheet.root.remove(listed)


def _placed(changes: Mapping[str, CellValue | None]) -> list[tuple[tuple[int, int], CellValue | None]]:
    return [(place_of(name), value) for name, value in changes.items()]


class _Styles:
    """The styles of a workbook, to which those are added that a changed value needs."""

    def __init__(self, data: bytes) -> None:
        self.root = _xml(data)
        self._formats = self.root.find("{*}cellXfs")
        self._codes = {one.get("numFmtId"): one.get("formatCode") for one in self.root.findall("{*}numFmts/{*}numFmt")}
        self.added: dict[tuple[int, str], int] = {}

    def alike(self, style: int, kind: str) -> int:
        """See `simia_gym.envs.officebench.formats.sheet.Restyle`."""
        old = self._formats[style]
        if kind == "number" and not self._shows_moments(old.get("numFmtId", "0")):
            return style
        if (style, kind) not in self.added:
            new = _xml(_bytes(old))
            new.set("numFmtId", _FORMATS[kind])
            new.set("applyNumberFormat", "1")
            self._formats.append(new)
            self._formats.set("count", str(len(self._formats)))
            self.added[style, kind] = len(self._formats) - 1
        return self.added[style, kind]

    def _shows_moments(self, number: str) -> bool:
        numbers = library("openpyxl.styles.numbers", "openpyxl")
        code = self._codes.get(number) or numbers.BUILTIN_FORMATS.get(int(number))
        return bool(code) and (numbers.is_date_format(code) or numbers.is_timedelta_format(code))


def _xml(data: bytes) -> Any:
    etree = library("lxml.etree", "lxml")
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, huge_tree=True))


def _bytes(root: Any) -> bytes:
    etree = library("lxml.etree", "lxml")
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True))
