"""Which files are tables, and what the tables are called."""

import os
import pathlib
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from . import formats
from .settings import FILES, Mistake

# The table that comes along, and the list of all tables.
CONSTANTS = "constants"
TABLES = "tables"
_CODATA = pathlib.Path(__file__).with_name("codata.csv")


class Table(NamedTuple):
    """A table: the file that it is in, and how to get at it."""

    name: str
    kind: str
    file: pathlib.Path
    # SQL that scans the file, for what the engine reads by itself.
    scan: Optional[str] = None
    # Else what gives the columns as NumPy arrays, by name.
    load: Optional[Callable[[], Dict[str, Any]]] = None


class Catalog:
    """All tables, by their names in lower case, as SQL compares them."""

    def __init__(self, places: List[str]) -> None:
        self.tables: Dict[str, Table] = {}
        self._add(Table(CONSTANTS, "csv", _CODATA, formats.scan_of("csv", _CODATA)))
        for place in places:
            for file in _files(pathlib.Path(place)):
                for table in _tables_of(file):
                    self._add(table)

    def _add(self, table: Table) -> None:
        known = self.tables.setdefault(table.name.lower(), table)
        if table.name.lower() == TABLES:
            raise Mistake(f'{table.file}: "{TABLES}" is the list of all tables; rename the file')
        if known is table:
            return
        raise Mistake(
            f'two tables are called "{table.name}": {known.file} and {table.file}; rename one, or '
            f"name the files that you want in {FILES} and not their folder"
        )

    def find(self, names: List[str]) -> List[Table]:
        """The tables of these names; names of none are left out."""
        found = (self.tables.get(name.lower()) for name in dict.fromkeys(names))
        return [table for table in found if table is not None]

    def scanned(self) -> List[str]:
        """The files that the engine opens by itself."""
        return [str(table.file) for table in self.tables.values() if table.scan is not None]

    def listed(self) -> Dict[str, List[str]]:
        """What the table `tables` says."""
        tables = sorted(self.tables.values())
        return {
            "name": [table.name for table in tables],
            "kind": [table.kind for table in tables],
            "file": [table.file.name for table in tables],
        }


def _files(place: pathlib.Path) -> List[pathlib.Path]:
    """The files of a folder that are tables, or a file itself."""
    if not place.is_absolute():
        raise Mistake(f"{place} in {FILES} is no absolute path; write it in full")
    try:
        found = sorted(place.iterdir()) if place.is_dir() else [place]
        files = [one for one in found if formats.kind_of(one) and one.is_file()]
        for file in files:
            file.open("rb").close()
    except PermissionError as error:
        fix = f'modules.tables.readable = ["{place}"] in farcall.toml makes it readable'
        raise Mistake(f"the module may not read {error.filename or place}; {fix}") from None
    if not place.exists():
        raise Mistake(f"{place} in {FILES} does not exist")
    if place.is_file() and not files:
        raise Mistake(f"{place} in {FILES} ends in no {', '.join(formats.ENDINGS)}")
    return [pathlib.Path(os.path.realpath(file)) if file.is_symlink() else file for file in files]


def _tables_of(file: pathlib.Path) -> List[Table]:
    kind = formats.kind_of(file)
    name = formats.stem_of(file)
    scan = formats.scan_of(kind, file)
    if scan is not None:
        return [Table(name, kind, file, scan)]
    try:
        parts = formats.parts_of(kind, file)
    except Mistake:
        raise
    except Exception as error:
        raise Mistake(f"{file} cannot be read: {error}; mend it, or take it away") from None
    return [
        Table(f"{name}_{part}" if part else name, kind, file, load=load)
        for part, load in parts.items()
    ]
