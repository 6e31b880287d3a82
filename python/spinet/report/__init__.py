# SPDX-License-Identifier: Apache-2.0
"""A run as one HTML file with charts, which needs no network.

`series` turns the tables of a run into numbers over time, `charts` turns these into Vega-Lite specifications,
`sections` puts charts and tables together, and `page` writes the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spinet import _files

if TYPE_CHECKING:
    import os

__all__ = ["NAME", "check", "html", "write"]

NAME = "report.html"


def check() -> None:
    """Check that reports can be made.

    Raises
    ------
    UsageError
        If the library that draws charts is not installed.
    """
    from spinet.report import page

    page.library()


def html(folder: str | os.PathLike[str]) -> str:
    """The report of a run, as the text of an HTML file.

    Parameters
    ----------
    folder
        What `spinet run -o` or `Result.save` has written.

    Raises
    ------
    UsageError
        If the folder has no summary, or the library that draws charts is not installed.
    InputError
        If a file of the folder is damaged.
    """
    from spinet.report import page, sections
    from spinet.report.run import Run

    run = Run(Path(folder))
    return page.html(run, sections.all_of(run))


def write(folder: str | os.PathLike[str], target: str | os.PathLike[str] | None = None) -> Path:
    """Write the report of a run; by default as `report.html` in its folder. Returns the file.

    Raises
    ------
    UsageError
        If the folder has no summary, the library that draws charts is not installed, or the file cannot be written.
    InputError
        If a file of the folder is damaged.
    """
    file = Path(folder) / NAME if target is None else Path(target)
    _files.write(file, html(folder))
    return file
