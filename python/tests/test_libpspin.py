# SPDX-License-Identifier: Apache-2.0
"""libpspin from C: handlers that the SDK builds, drivers that the system's compiler builds, and their results."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from spinet import toolchain

ROOT = Path(__file__).resolve().parents[2]
C = ROOT / "crates" / "capi" / "tests" / "c"
# Cycles between packets: a table of 512 KiB takes 8192 to write, and a read must come after the write before it.
BENCHMARKS = {
    "reduce": 20,
    "aggregate": 20,
    "histogram": 20,
    "strided_ddt": 20,
    "filtering": 10_000,
    "kvstore": 2_000,
    "udp_ping_pong": 20,
    "copy_to_host": 20,
    "empty": 20,
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of `make libpspin`, from the library that `cargo test` uses."""
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--package", "capi"], cwd=ROOT, check=True)
    folder = tmp_path_factory.mktemp("libpspin")
    subprocess.run([ROOT / "crates/capi/make/install", ROOT / "target/debug/libcapi.so", folder], check=True)
    return folder


def compiled(source: Path, folder: Path, installed: Path) -> Path:
    """A C driver as a PsPIN user builds it, with the warnings of C99."""
    program = folder / source.stem
    paths = [f"-I{installed / 'include'}", f"-L{installed / 'lib'}", f"-Wl,-rpath,{installed / 'lib'}"]
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror"]
    command = [os.environ.get("CC", "cc"), *flags, *paths, str(source), "-lpspin", "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def run(program: Path, *arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if name not in ("PSPIN_HW", "SPINET_NIC")}
    command = [str(program), *arguments]
    return subprocess.run(
        command, cwd=folder, env=known | variables, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(scope="module")
def paper(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver of the paper's handlers."""
    return compiled(C / "paper.c", tmp_path_factory.mktemp("paper"), installed)


@pytest.mark.parametrize("handler", BENCHMARKS)
def test_the_papers_handlers_do_on_a_c_host_what_c_computes(handler: str, paper: Path, tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    source = ROOT / "sdk" / "examples" / f"{handler}.c"
    toolchain.build([source], defines={"SPIN_PSPIN_PACKETS": ""}, out=tmp_path / "build" / handler)
    # On the RTL as published, atomics outside the own L1 return 1 and unaligned host writes go astray.
    delay = f"--packet-delay={BENCHMARKS[handler]}"
    ran = run(paper, handler, delay, folder=tmp_path, SPINET_NIC="pspin-paper")
    (verdict,) = re.findall(rf"^{handler}: .*$", ran.stdout, flags=re.MULTILINE)
    assert (ran.returncode, ran.stderr) == (0, ""), verdict
    assert "Packets: 32; Bytes: 32768" in ran.stdout


# In early versions of PsPIN, the rules were elsewhere, beside the headers.
MAKEFILE = """\
SPIN_APP_NAME = pingpong
SPIN_APP_SRCS = handlers/ping_pong.c
SPIN_CFLAGS = -O3 -g -flto
include $(PSPIN_RT)/{rules}
driver: driver/driver.c
\t$(CC) -std=c99 -I$(PSPIN_RT)/{include}/ -I$(PSPIN_HW)/verilator_model/include driver/driver.c \\
\t\t-L$(PSPIN_HW)/verilator_model/lib/ -lpspin_debug -o sim_$(SPIN_APP_NAME)
"""
LAYOUTS = {
    "today": {"rules": "rules/spin-rt.mk", "include": "runtime/include"},
    "2022": {"rules": "rules/spin-handlers.mk", "include": "runtime/include"},
    "2021": {"rules": "spin-handlers.mk", "include": "include"},
}
HANDLER = """\
#include <handler.h>
#include <packets.h>
#include <spin_dma.h>
volatile __attribute__((section(".l2_handler_data"))) uint8_t handler_mem[] = {0xde, 0xad, 0xbe, 0xef};
__handler__ void pingpong_ph(handler_args_t *args)
{
    task_t *task = args->task;
    ip_hdr_t *ip = (ip_hdr_t *)task->pkt_mem;
    uint32_t source = ip->source_id;
    spin_cmd_t copied, put;
    ip->source_id = ip->dest_id;
    ip->dest_id = source;
    /* A pointer where an address is asked for, which PsPIN's compiler takes. */
    spin_dma_to_host((uint64_t)task->host_mem_high << 32 | task->host_mem_low, task->l2_pkt_mem, 64, 0, &copied);
    spin_send_packet(task->pkt_mem, ip->length, &put);
}
void asked_for_by_the_host_alone(void) {}
void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr)
{
    volatile handler_fn handlers[] = {NULL, pingpong_ph, NULL};
    *hh = handlers[0], *ph = handlers[1], *th = handlers[2];
    *handler_mem_ptr = (void *)handler_mem;
}
"""
DRIVER = """\
#include <stdio.h>
#include "gdriver.h"
#include "packets.h"
#include "spin.h"
#include "spin_conf.h"
#include "util.h"
int main(int argc, char **argv)
{
    int contexts;
    spin_nic_addr_t addr = 0;
    size_t size;
    if (gdriver_init(argc, argv, NULL, &contexts)) return 1;
    spin_find_handler_by_name("build/pingpong", "asked_for_by_the_host_alone", &addr, &size);
    if (addr == 0 || MIN(CORE_COUNT, PKT_SIZE) != 32) return 3;
    if (gdriver_add_ectx("build/pingpong", NULL, "pingpong_ph", NULL, NULL, NULL, 0, NULL, 0)) return 2;
    gdriver_run();
    return gdriver_fini();
}
"""


def deployed(target: str, makefile: str, driver: str, installed: Path, folder: Path) -> tuple[Path, dict[str, str]]:
    """A PsPIN user's Makefile builds handlers and driver; also returns the variables to run them with."""
    for name, text in {"Makefile": makefile, "handlers/ping_pong.c": HANDLER, "driver/driver.c": driver}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    pspin = installed / "pspin"
    places = {"PSPIN_HW": str(pspin / "hw"), "PSPIN_RT": str(pspin / "sw"), "SPINET": f"{sys.executable} -m spinet.cli"}
    subprocess.run(["make", "deploy", target], cwd=folder, env=os.environ | places, check=True, capture_output=True)
    return folder / "sim_pingpong", {"LD_LIBRARY_PATH": str(installed / "lib")}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_makefile_of_pspin_builds_and_runs_unchanged(layout: str, installed: Path, tmp_path: Path) -> None:
    makefile = MAKEFILE.format(**LAYOUTS[layout])
    program, libraries = deployed("driver", makefile, DRIVER, installed, tmp_path)
    from_images = run(program, "-m", "2", folder=tmp_path, **libraries)
    assert (from_images.returncode, from_images.stderr) == (0, "")
    assert "Commands: 64; Packets: 64; Bytes: 65536" in from_images.stdout
    # Without the images the program comes from the ELF file that the context names, and all is the same.
    (tmp_path / "build" / "slm_files").rename(tmp_path / "build" / "elsewhere")
    assert run(program, "-m", "2", folder=tmp_path, **libraries).stdout == from_images.stdout


# As in PsPIN's examples: the driver's options are a gengetopt description, and `run` keeps the transcript.
GENERIC = """\
SPIN_APP_NAME = pingpong
SPIN_APP_SRCS = handlers/ping_pong.c
SPIN_CFLAGS = -O3 -g -flto
include $(PSPIN_RT)/rules/spin-handlers.mk
all::
\tmake deploy
\tmake driver
args.c: args.ggo
\tgengetopt -i args.ggo -F args --output-dir=./
driver: driver/driver.c args.c
\t$(CC) -std=c99 -I. -I$(PSPIN_RT)/runtime/include/ -I$(PSPIN_HW)/verilator_model/include driver/driver.c args.c \\
\t\t-L$(PSPIN_HW)/verilator_model/lib/ -lpspin -o sim_$(SPIN_APP_NAME)
run::
\t./sim_$(SPIN_APP_NAME) | tee transcript
.PHONY: driver run
"""
OPTIONS = """\
version "1.0"
package "Generic simulation driver"
purpose "Generic simulation driver"

# Options
option "num-packets" p "Number of packets per message" optional int default="3"
option "trace-file" t "Path to file with packet traces for simulation" optional string default="NULL"
"""
WITH_OPTIONS = DRIVER.replace('#include "spin.h"', '#include "spin.h"\n#include "args.h"').replace(
    "    if (gdriver_init(argc, argv, NULL, &contexts)) return 1;",
    """\
    struct gengetopt_args_info options;
    char packets[16], *given[] = {"sim", "-p", packets, NULL};
    if (cmdline_parser(argc, argv, &options)) return 1;
    sprintf(packets, "%d", options.num_packets_arg);
    if (gdriver_init(3, given, NULL, &contexts)) return 1;""",
)


@pytest.fixture(scope="module")
def ran_by_make(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder in which `make` and `make run` were called after `source sourceme.sh`, and its variables."""
    folder = tmp_path_factory.mktemp("generic")
    files = {"Makefile": GENERIC, "args.ggo": OPTIONS, "handlers/ping_pong.c": HANDLER, "driver/driver.c": WITH_OPTIONS}
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    tools = os.environ | {"SPINET": f"{sys.executable} -m spinet.cli"}
    sourced = f"source {installed}/pspin/sourceme.sh && env -0"
    shown = subprocess.run(["bash", "-c", sourced], env=tools, capture_output=True, text=True, check=True).stdout
    variables = dict(one.split("=", 1) for one in shown.split("\0") if one)
    for target in ("all", "run"):
        subprocess.run(["make", target], cwd=folder, env=variables, check=True, capture_output=True)
    return folder, variables


def made(target: str, ran: tuple[Path, dict[str, str]]) -> str:
    command = ["make", "--silent", target]
    return subprocess.run(command, cwd=ran[0], env=ran[1], capture_output=True, text=True, check=True).stdout


def test_make_needs_no_gengetopt_and_its_parser_refuses_what_it_does_not_know(
    ran_by_make: tuple[Path, dict[str, str]],
) -> None:
    folder, variables = ran_by_make
    assert "Packets: 3; Bytes: 3072" in (folder / "transcript").read_text()
    for arguments in (["-x"], ["-p", "many"]):
        ran = run(folder / "sim_pingpong", *arguments, folder=folder, **variables)
        assert (ran.returncode, ran.stdout) == (1, "")


def test_a_program_that_make_linked_finds_the_library_by_itself(ran_by_make: tuple[Path, dict[str, str]]) -> None:
    folder, _ = ran_by_make
    assert run(folder / "sim_pingpong", "--help", folder=folder).returncode == 0


def test_make_info_has_a_line_for_each_handler(ran_by_make: tuple[Path, dict[str, str]]) -> None:
    head, *lines = made("info", ran_by_make).splitlines()
    assert head.startswith("#[key] handler cluster_id core_id start_time end_time latency instructions loads stores")
    rows = [line.split() for line in lines]
    assert [row[0] for row in rows] == ["pingpong_ph"] * 3
    for row in rows:
        start, end, latency, instructions, loads, stores = map(int, row[3:9])
        assert end - start == latency > 0
        assert instructions > loads + stores > 0


def test_make_trace_has_a_line_for_each_instruction_with_its_source(ran_by_make: tuple[Path, dict[str, str]]) -> None:
    made("trace", ran_by_make)
    lines = (ran_by_make[0] / "pingpong.trace.txt").read_text().splitlines()
    form = r'\d+ \d+ \d+ [0-9a-f]{2} [0-9a-f] \S+ [0-9a-f]{8} \S+ \S+ ".*"'
    assert all(re.fullmatch(form, line) for line in lines)
    assert sum(" pingpong_ph 1d" in line and " ping_pong.c:" in line for line in lines) > 30
    events = json.loads(made("trace-chrome-stdout", ran_by_make))["traceEvents"]
    assert len(events) == len(lines)


def test_make_stats_counts_handlers_and_their_time(ran_by_make: tuple[Path, dict[str, str]]) -> None:
    transcript = (ran_by_make[0] / "transcript").read_text()
    for what in ("INFO HANDLER_START", "INFO HPU_TIME", "freeing 1024 bytes", "NIC outbound got new command"):
        assert transcript.count(what) == 3, what
    assert made("stats", ran_by_make).startswith("Total handlers: 3; Handler runtime (ns): avg: ")


BY_ITSELF = """\
#include <stdio.h>
#include "pspinsim.h"
int main(int argc, char **argv)
{
    spin_ec_t ec = {0};
    size_t size;
    uint8_t packet[64] = {0x50, 0, 64};
    if (pspinsim_init(argc, argv, NULL)) return 1;
    spin_find_handler_by_name("build/pingpong", "pingpong_ph", &ec.ph_addr, &size);
    pspinsim_packet_add(&ec, 0, packet, 64, 64, 1, 0, 0);
    pspinsim_packet_eos();
    return pspinsim_run() || pspinsim_fini();
}
"""


def test_a_driver_needs_no_rule_and_no_place_of_its_own_for_images(installed: Path, tmp_path: Path) -> None:
    makefile = MAKEFILE.format(**LAYOUTS["today"]).partition("driver:")[0]
    program, _ = deployed("sim_pingpong", makefile, BY_ITSELF, installed, tmp_path)
    # The program finds the library by itself, and images where `deploy` copies them.
    ran = run(program, folder=tmp_path, PSPIN_HW=str(installed / "pspin" / "hw"))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Commands: 1; Packets: 1; Bytes: 64" in ran.stdout


FROM_CPP = """\
#include "gdriver.h"
#include "pspinsim.h"
struct Params { int a, b, c; };
uint32_t fill(uint32_t, uint32_t, uint8_t *, uint32_t size, uint32_t *) { return size; }
int forms(int argc, char **argv, int *n)
{
    Params params;
    return gdriver_init(argc, argv, nullptr, n) + gdriver_init(argc, argv, "f", nullptr, "ph", nullptr)
        + gdriver_init(argc, argv) + gdriver_add_ectx("f", nullptr, "ph", nullptr, fill, &params, sizeof params)
        + gdriver_add_ectx("f", nullptr, "ph", nullptr, fill, &(params = Params{1, 2, 3}), sizeof params, nullptr, 0)
        + (int)pspinsim_time();
}
"""


def test_every_form_of_the_generic_driver_is_cpp_too(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "forms.cpp").write_text(FROM_CPP)
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-c", f"-I{installed / 'include'}"]
    subprocess.run([sys.executable, "-m", "ziglang", "c++", *flags, "forms.cpp"], cwd=tmp_path, check=True)
