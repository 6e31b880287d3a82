# SPDX-License-Identifier: Apache-2.0
"""The HTML file of a report: text and tables as HTML, charts as specifications that Vega-Lite draws in the browser."""

from __future__ import annotations

import html as _html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from spinet._core import UsageError

if TYPE_CHECKING:
    from spinet.report.run import Run

# Nothing is fetched: the policy forbids it even if a text of the run should contain a reference.
_POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


class Markup(str):
    """Text that is HTML already."""


def text(value: object) -> Markup:
    """Any value as HTML; only markup is not escaped."""
    return value if isinstance(value, Markup) else Markup(_html.escape(str(value)))


def tag(name: str, *inner: object, **attributes: object) -> Markup:
    """An element. Attributes with a trailing underscore lose it; other underscores become hyphens."""
    found = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_html.escape(str(value))}"' for key, value in attributes.items()
    )
    return Markup(f"<{name}{found}>{''.join(map(text, inner))}</{name}>")


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str = "") -> Markup:
    """A table whose columns can be sorted. Numbers are aligned right and shown with separators."""
    rows = [list(row) for row in rows]
    is_number = [
        all(isinstance(row[at], int | float) or row[at] is None for row in rows) and bool(rows)
        for at in range(len(headings))
    ]
    cells = [
        tag("th", tag("button", name, type="button"), scope="col", **({"class_": "number"} if is_number[at] else {}))
        for at, name in enumerate(headings)
    ]
    lines = [tag("tr", *(_cell(value) for value in row)) for row in rows]
    inner = [tag("caption", caption)] if caption else []
    whole = tag("table", *inner, tag("thead", tag("tr", *cells)), tag("tbody", *lines))
    return tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption or ", ".join(headings))


def _cell(value: object) -> Markup:
    if value is None:
        return tag("td", "", class_="number", data_value="-1")
    if isinstance(value, int | float):
        shown = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
        return tag("td", shown, class_="number", data_value=repr(value))
    return tag("td", value)


@dataclass
class Section:
    """A heading with its content, and charts by identity."""

    title: str
    inner: list[Markup] = field(default_factory=list)
    charts: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Its anchor."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())

    def add(self, *inner: object) -> None:
        """Add paragraphs or elements."""
        self.inner += [one if isinstance(one, Markup) else tag("p", one) for one in inner]

    def chart(self, name: str, title: str, spec: dict[str, Any], about: str = "", data: Markup | None = None) -> Markup:
        """A chart as a figure, to be added; `data` are its numbers as a table for those who cannot see it."""
        identity = f"chart-{name}"
        self.charts[identity] = spec
        inner: list[Markup] = [
            tag("h3", title),
            tag("div", "", id=identity, class_="chart", role="img", aria_label=title),
        ]
        if about:
            inner.append(tag("figcaption", about))
        if data is not None:
            inner.append(tag("details", tag("summary", "Numbers"), data))
        return tag("figure", *inner)


@cache
def library() -> str:
    """Vega, Vega-Lite and vega-embed as one script that sets `vegaEmbed`.

    Raises
    ------
    UsageError
        If vl-convert-python, which contains them, is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise UsageError(
            "reports need vl-convert-python, which is not installed", hint="pip install 'spinet[report]'"
        ) from None
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle


def html(run: Run, sections: Sequence[Section]) -> str:
    """The text of the file."""
    charts = {identity: spec for section in sections for identity, spec in section.charts.items()}
    title, *rest = sections
    here = resources.files("spinet.report")
    links = [tag("li", tag("a", section.title, href=f"#{section.id}")) for section in rest]
    body = [
        tag("a", "Skip to the charts", href="#content", class_="skip"),
        tag("header", tag("h1", title.title), *title.inner),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *(_section(section) for section in rest), id="content"),
        tag("footer", tag("p", f"Made by spinet {run.summary['spinet']}.", class_="faint")),
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            str(tag("title", f"{title.title} - spinet")),
            '<link rel="icon" href="data:,">',
            f"<style>\n{(here / 'page.css').read_text(encoding='utf-8')}</style>",
            "</head>",
            "<body>",
            *body,
            f'<script type="application/json" id="charts">{_json(charts)}</script>',
            f'<script type="module">{_script(library())}\n{(here / "page.js").read_text(encoding="utf-8")}</script>',
            "</body>",
            "</html>",
            "",
        ]
    )


def _section(section: Section) -> Markup:
    return tag("section", tag("h2", section.title, id=section.id), *section.inner, aria_labelledby=section.id)


def _json(value: object) -> str:
    # Escaped, so that a "<" in a text cannot begin an HTML element. JSON has "<" only in strings.
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _script(source: str) -> str:
    return source.replace("</script", "<\\/script")
