# SPDX-License-Identifier: Apache-2.0
"""The picture at the head of README.md. `docs/generate.py` calls it."""

from __future__ import annotations

from dataclasses import dataclass

WIDTH, HEIGHT = 960, 520

INK, QUIET, PAPER = "#1f2933", "#616e7c", "#ffffff"
BLUE, GREEN, SAND, ROSE = "#e3eefb", "#e4f4ea", "#fbf2e0", "#fae8ec"
BLUE_LINE, GREEN_LINE, SAND_LINE, ROSE_LINE = "#3e7cc4", "#3c9a5f", "#c28f2c", "#c0506a"


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle with a title and lines of small text under it."""

    x: int
    y: int
    w: int
    h: int
    title: str
    lines: tuple[str, ...] = ()
    fill: str = PAPER
    line: str = QUIET

    def svg(self) -> str:
        middle = self.x + self.w / 2
        text = 15 + 14 * len(self.lines)
        top = self.y + (self.h - text) / 2 + 12
        parts = [
            f'<rect x="{self.x}" y="{self.y}" width="{self.w}" height="{self.h}" rx="7" fill="{self.fill}" '
            f'stroke="{self.line}" stroke-width="1.2"/>',
            f'<text x="{middle}" y="{top}" class="title">{self.title}</text>',
        ]
        parts += [
            f'<text x="{middle}" y="{top + 15 + 14 * i}" class="small">{line}</text>'
            for i, line in enumerate(self.lines)
        ]
        return "\n".join(parts)


def arrow(*points: tuple[int, int], label: str = "", at: tuple[int, int] | None = None, anchor: str = "middle") -> str:
    """A line through points with a head at its end."""
    path = "M" + " L".join(f"{x} {y}" for x, y in points)
    parts = [f'<path d="{path}" class="arrow" marker-end="url(#head)"/>']
    if label and at is not None:
        parts.append(f'<text x="{at[0]}" y="{at[1]}" class="small" style="text-anchor:{anchor}">{label}</text>')
    return "\n".join(parts)


def frame(x: int, y: int, w: int, h: int, title: str, fill: str, line: str) -> str:
    """A room: a pale area with its name in the corner."""
    return (
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="12" fill="{fill}" stroke="{line}" stroke-width="1.4"/>\n'
        f'<text x="{x + 14}" y="{y + 22}" class="room" fill="{line}">{title}</text>'
    )


def core(x: int, y: int) -> str:
    return f'<rect x="{x}" y="{y}" width="19" height="19" rx="3" fill="{PAPER}" stroke="{GREEN_LINE}"/>'


def cluster(x: int, y: int, index: int) -> str:
    parts = [
        f'<rect x="{x}" y="{y}" width="112" height="92" rx="7" fill="{PAPER}" stroke="{GREEN_LINE}" stroke-width="1.2"/>',
        f'<text x="{x + 56}" y="{y + 16}" class="small">cluster {index}</text>',
        *(core(x + 10 + 24 * (i % 4), y + 24 + 23 * (i // 4)) for i in range(8)),
        f'<text x="{x + 56}" y="{y + 84}" class="small">1 MiB L1</text>',
    ]
    return "\n".join(parts)


def drawing() -> str:
    """The whole picture."""
    parts = [
        frame(16, 16, 196, 488, "you write", SAND, SAND_LINE),
        Box(
            x=34, y=56, w=160, h=92, title="handlers in C", lines=("header, payload,", "completion"), line=SAND_LINE
        ).svg(),
        Box(x=34, y=206, w=160, h=74, title="traffic", lines=("pcap, pcapng", "or generated"), line=SAND_LINE).svg(),
        Box(x=34, y=332, w=160, h=60, title="match, message", lines=("udp.dst_port == 53",), line=SAND_LINE).svg(),
        Box(x=34, y=424, w=160, h=60, title="a card", lines=("presets/pspin.toml",), line=SAND_LINE).svg(),
        frame(256, 16, 520, 488, "the card, simulated to the cycle: PsPIN", GREEN, GREEN_LINE),
        Box(x=276, y=206, w=112, h=74, title="inbound", lines=("packet buffer,", "requests"), line=GREEN_LINE).svg(),
        Box(
            x=420, y=206, w=130, h=74, title="scheduler", lines=("message queues,", "dispatcher"), line=GREEN_LINE
        ).svg(),
        *(cluster(276 + 122 * i, 56, i) for i in range(4)),
        Box(
            x=582,
            y=206,
            w=172,
            h=74,
            title="program memory",
            lines=("the ELF file: runtime", "and handlers"),
            line=GREEN_LINE,
        ).svg(),
        Box(
            x=276, y=332, w=236, h=60, title="commands", lines=("send, copy to host, write to host",), line=GREEN_LINE
        ).svg(),
        Box(
            x=276, y=424, w=236, h=60, title="L2: packets, handler data", lines=("4 MiB + 4 MiB",), line=GREEN_LINE
        ).svg(),
        Box(x=582, y=332, w=172, h=60, title="outbound", lines=("packets to the wire",), line=GREEN_LINE).svg(),
        Box(x=582, y=424, w=172, h=60, title="PCIe", lines=("off-cluster DMA",), line=GREEN_LINE).svg(),
        frame(820, 16, 124, 488, "you get", BLUE, BLUE_LINE),
        Box(
            x=832, y=56, w=100, h=92, title="summary", lines=("latency, HPUs,", "cycles, faults"), line=BLUE_LINE
        ).svg(),
        Box(x=832, y=206, w=100, h=74, title="packets", lines=("one row each", ".parquet"), line=BLUE_LINE).svg(),
        Box(x=832, y=332, w=100, h=60, title="out.pcapng", lines=("what it sent",), line=BLUE_LINE).svg(),
        Box(x=832, y=424, w=100, h=60, title="host/", lines=("its memory",), line=BLUE_LINE).svg(),
        arrow((194, 243), (274, 243)),
        arrow((194, 362), (234, 362), (234, 256), (274, 256)),
        arrow((388, 243), (418, 243)),
        arrow((485, 206), (485, 150), label="tasks", at=(492, 182), anchor="start"),
        arrow((332, 206), (332, 150), label="packets", at=(339, 182), anchor="start"),
        arrow((650, 206), (650, 150), label="code", at=(657, 182), anchor="start"),
        arrow((566, 150), (566, 310), (394, 310), (394, 330)),
        arrow((512, 362), (580, 362)),
        arrow((512, 376), (546, 376), (546, 454), (580, 454)),
        arrow((754, 362), (830, 362)),
        arrow((754, 454), (830, 454)),
        arrow((776, 102), (830, 102)),
        arrow((776, 243), (830, 243)),
        arrow((194, 102), (254, 102)),
        arrow((194, 454), (254, 454)),
    ]
    style = (
        "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;text-anchor:middle}"
        f".title{{font-size:13.5px;font-weight:600;fill:{INK}}}.small{{font-size:11.5px;fill:{QUIET}}}"
        ".room{font-size:13px;font-weight:600;text-anchor:start}"
        f".arrow{{fill:none;stroke:{QUIET};stroke-width:1.4}}"
    )
    head = (
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0.5 L8 4 L0 7.5 z" fill="{QUIET}"/></marker>'
    )
    body = "\n".join(part for part in parts if part)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="Handlers, traffic and match expressions go into a simulated card; a summary, a packet table, '
        'sent packets and host memory come out.">\n'
        f"<defs>{head}</defs>\n<style>{style}</style>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>\n{body}\n</svg>\n'
    )
