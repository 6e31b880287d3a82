# SPDX-License-Identifier: Apache-2.0
"""`spinet cache`: shows and empties the cache."""

from __future__ import annotations

import json

import click

from spinet.cli import parameters


@click.command(short_help="Show or empty the build cache.")
@click.option("--empty", is_flag=True, help="Remove all files of the cache.")
@parameters.json_option
def command(empty: bool, as_json: bool) -> int:
    """Show the cache: compiled programs, and points of reproduced figures.

    The cache is in $SPINET_CACHE, otherwise in $XDG_CACHE_HOME/spinet or ~/.cache/spinet. If it holds more than
    512 MiB (or $SPINET_CACHE_MIB), builds remove the least recently used files.

    \b
    Examples:
      spinet cache
      spinet cache --empty
    """
    from spinet import cache

    folder = cache.cache_dir()
    freed = cache.empty(folder) if empty else None
    kinds = cache.usage(folder)
    total = sum(kind.bytes for kind in kinds)
    if as_json:
        rows = [{"kind": kind.kind, "files": kind.files, "bytes": kind.bytes} for kind in kinds]
        found = {"folder": str(folder), "limit_bytes": cache.limit_bytes(), "bytes": total, "kinds": rows}
        click.echo(json.dumps(found if freed is None else {**found, "freed_bytes": freed}, indent=2))
        return 0
    if freed is not None:
        click.echo(f"removed {_mib(freed)} from {folder}")
        return 0
    click.echo(f"{folder}: {_mib(total)} of at most {_mib(cache.limit_bytes())}")
    for kind in kinds:
        click.echo(f"  {kind.kind:<9} {kind.files:>7,} files {_mib(kind.bytes):>11}  {cache.KINDS[kind.kind]}")
    return 0


def _mib(count: int) -> str:
    return f"{count / (1 << 20):,.1f} MiB"
