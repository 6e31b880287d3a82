# SPDX-License-Identifier: Apache-2.0
"""Pages of the site that are not in docs/: those at the root of the repository, and files that pages link to."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tutorial

ROOT = Path(__file__).resolve().parent.parent
# Pages at the root of the repository, with their names on the site.
_AT_ROOT = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
}
_TUTORIAL = "tutorial.md"
_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
_LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".toml": "toml"}


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages at the root, and a page for each file outside docs/ that a page links to."""
    for name, uri in _AT_ROOT.items():
        files.append(File.generated(config, uri, content=(ROOT / name).read_text()))
    files.append(File.generated(config, _TUTORIAL, content=tutorial.page(tutorial.NOTEBOOK.read_text())))
    for uri in [file.src_uri for file in files.documentation_pages()]:
        source = _source_of(uri)
        for _, target, _ in _LINK.findall((ROOT / source).read_text()):
            path = _path_of(target, source)
            page = None if path is None else _uri_of(path)
            if page is not None and page.startswith("files/") and files.get_file_from_path(page) is None:
                assert path is not None
                files.append(File.generated(config, page, content=_shown(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to where their targets are on the site."""
    del config, files
    uri = page.file.src_uri
    source = _source_of(uri)

    def moved(link: re.Match[str]) -> str:
        path = _path_of(link[2], source)
        target = None if path is None else _uri_of(path)
        if target is None:
            return link[0]
        return f"{link[1]}{posixpath.relpath(target, posixpath.dirname(uri) or '.')}{link[3]}"

    return markdown if uri.startswith("files/") else _LINK.sub(moved, markdown)


def _source_of(uri: str) -> str:
    """The file in the repository of a page of the site."""
    if uri == _TUTORIAL:
        return str(tutorial.NOTEBOOK.relative_to(ROOT))
    return next((name for name, at in _AT_ROOT.items() if at == uri), f"docs/{uri}")


def _path_of(target: str, source: str) -> str | None:
    """The file in the repository that a link of `source` leads to; None for an address."""
    if re.match(r"[a-z]+:", target):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), target))


def _uri_of(path: str) -> str | None:
    """The place on the site of a file in the repository; None if there is no such file."""
    if path in _AT_ROOT:
        return _AT_ROOT[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"files/{path}.md" if (ROOT / path).is_file() else None


def _shown(path: str) -> str:
    """A page with the text of a file."""
    language = _LANGUAGES.get(Path(path).suffix, "text")
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n````{language}\n{(ROOT / path).read_text()}\n````\n"
