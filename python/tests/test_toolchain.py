# SPDX-License-Identifier: Apache-2.0
"""Building handlers: the results, the inputs that the cache checks, and the errors."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import shutil
import subprocess
import tomllib
from pathlib import Path, PurePosixPath

import pytest
import spinet
from spinet import toolchain
from spinet.toolchain import CompileError, CompilerNotFound, MissingHandlers, ProgramTooLarge, SourceNotFound, build

HANDLER = """\
#include <handler.h>
#include "local.h"
__handler__ void demo_hh(handler_args_t *args) {}
__handler__ void demo_ph(handler_args_t *args) { amo_add((int32_t *)args->task->scratchpad[0], STEP); }
"""
PROBES = """\
#include <handler.h>
#include <packets.h>
#include <spin_conf.h>
__handler__ void probe_ph(handler_args_t *args)
{
    task_t *task = args->task;
    spin_cmd_t command;
    pkt_hdr_t *header = (pkt_hdr_t *)task->pkt_mem;
    uint8_t *payload;
    uint32_t length;
    GET_IP_UDP_PLD(header, payload, length);
    spin_send_packet(payload, length, &command);
}
void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr)
{
    volatile handler_fn handlers[] = {NULL, probe_ph, NULL};
    *hh = handlers[0]; *ph = handlers[1]; *th = handlers[2];
}
"""


ROOT = Path(__file__).resolve().parent.parent.parent


def test_a_wheel_has_all_that_spinet_reads_of_the_repository() -> None:
    links = {"sdk/": "sdk/", "firmware/": "firmware_sources/", "experiments/": "experiments/"}
    links |= {"presets/units/": "presets/units/", "captures/": "captures/"}
    include = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["include"]
    include = [pattern for pattern in include if isinstance(pattern, str)]  # others are for source distributions
    for folder, link in links.items():
        listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in listed.stdout.splitlines():
            if name.endswith("README.md") or name.startswith("sdk/tests/") or name == "captures/make.py":
                continue
            packed = PurePosixPath("python/spinet") / link / name.removeprefix(folder)
            assert (ROOT / packed).is_file(), packed
            assert any(packed.match(pattern) for pattern in include), f"{packed} is in no wheel"


def test_a_source_distribution_has_all_that_the_simulator_is_compiled_with() -> None:
    include = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["include"]
    patterns = [pattern["path"] for pattern in include if not isinstance(pattern, str)]
    named = set()
    for source in (ROOT / "crates").glob("*/src/**/*.rs"):
        for name in re.findall(r'include_(?:str|bytes)!\(\s*"([^"]+)"', source.read_text()):
            path = (source.parent / name).resolve()
            if not path.is_relative_to(ROOT / "crates") and not path.is_relative_to(ROOT / "docs"):  # tests read those
                named.add(path.relative_to(ROOT))
    assert Path("presets/pspin.toml") in named
    assert [path for path in named if not any(PurePosixPath(path).match(pattern) for pattern in patterns)] == []


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """An empty cache."""
    return tmp_path / "cache"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A handler that includes a header of its own."""
    (tmp_path / "local.h").write_text("#define STEP 1\n")
    path = tmp_path / "demo.c"
    path.write_text(HANDLER)
    return path


def write(folder: Path, text: str) -> Path:
    path = folder / "handler.c"
    path.write_text(text)
    return path


def test_a_build_knows_its_handlers(source: Path, cache: Path) -> None:
    built = build([source], cache=cache)
    assert (built.compiler, built.cached, built.messages) == ("zig", False, "")
    assert sorted(built.handlers) == ["demo_hh", "demo_ph"]
    entry = built.entry()
    assert entry.name == "demo"
    assert entry.tail == 0
    assert all(0x1D000080 < address < 0x1D008000 for address in (entry.header, entry.payload))
    assert built.sections[".text"] < 4096


@pytest.mark.parametrize("cc", ["zig", "riscv64-unknown-elf-gcc", "clang-19"])
def test_handlers_written_for_pspin_compile_unchanged(cc: str, tmp_path: Path, cache: Path) -> None:
    if cc != "zig" and shutil.which(cc) is None:
        pytest.skip(f"{cc} is not installed")
    assert build([write(tmp_path, PROBES)], cc=cc, cache=cache).entry().name == "probe"


@pytest.mark.parametrize("cc", ["zig", "riscv64-unknown-elf-gcc", "clang-19"])
def test_the_compilers_helper_functions_are_found(cc: str, tmp_path: Path) -> None:
    if cc != "zig" and shutil.which(cc) is None:
        pytest.skip(f"{cc} is not installed")
    text = "#include <handler.h>\n#include <stdio.h>\n__handler__ void d_ph(handler_args_t *a)\n"
    text += '{ uint64_t n = a->hpu_gid * 10000000000ull; float f = n / 7; printf("%llu %d", n / 3, (int)f); }\n'
    assert build([write(tmp_path, text)], cc=cc, cache=toolchain.cache_dir()).sections[".text"] > 2000


def test_a_second_build_runs_no_more_than_the_preprocessor(
    source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build([source], cache=cache)
    start = subprocess.Popen

    def refuse(command: tuple[str, ...], **options: object) -> object:
        if "-E" not in command:
            pytest.fail(f"it runs {command}")
        return start(command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", refuse)
    second = build([source], cache=cache)
    assert second.cached
    assert (second.elf, second.handlers, second.sections) == (first.elf, first.handlers, first.sections)


@pytest.mark.parametrize("what", ["source", "header", "define", "opt", "compiler flag"])
def test_whatever_decides_the_build_is_noticed(what: str, source: Path, cache: Path) -> None:
    arguments: dict[str, object] = {}
    before = build([source], cache=cache)
    if what == "source":
        source.write_text(HANDLER.replace("[0]", "[1]"))
    elif what == "header":
        source.with_name("local.h").write_text("#define STEP 2\n")
    else:
        arguments = {
            "define": {"defines": {"X": 1}},
            "opt": {"opt": "-Os"},
            "compiler flag": {"flags": ["-fno-inline"]},
        }[what]
    after = build([source], cache=cache, **arguments)  # type: ignore[arg-type]
    assert not after.cached
    assert build([source], cache=cache, **arguments).cached  # type: ignore[arg-type]
    if what in ("source", "header"):
        assert before.elf.read_bytes() != after.elf.read_bytes()
    if what == "header":
        source.with_name("local.h").write_text("#define STEP 1\n")
        assert build([source], cache=cache).elf == before.elf


def test_the_same_input_gives_the_same_bytes(source: Path, tmp_path: Path) -> None:
    programs = {build([source], cache=tmp_path / name).elf.read_bytes() for name in ("one", "two")}
    assert len(programs) == 1


def test_a_damaged_cache_is_built_again(source: Path, cache: Path) -> None:
    first = build([source], cache=cache)
    (cache / "builds" / f"{first.key}.json").write_text('[{"elf": 3}')
    assert not build([source], cache=cache).cached
    assert build([source], cache=cache).cached
    whole = first.elf.read_bytes()
    first.elf.write_bytes(whole[:100])
    assert not build([source], cache=cache).cached
    assert build([source], cache=cache).elf.read_bytes() == whole


def test_whatever_of_a_cache_is_cut_off_is_built_again(source: Path, tmp_path: Path, cache: Path) -> None:
    whole = build([source], cache=cache).elf.read_bytes()
    other = write(tmp_path, HANDLER.replace("[0]", "[1]"))
    files = [path for path in cache.rglob("*") if path.is_file()]
    assert {path.relative_to(cache).parts[0] for path in files} == {"builds", "compilers", "runtime"}
    for length in (0, 10, 100):
        for path in files:
            path.write_bytes(path.read_bytes()[:length])
        build([other], cache=cache)
        assert build([source], cache=cache).elf.read_bytes() == whole
    for text in ("[]", "3", '{"kind": [3], "version": 1}', '{"kind": "zig", "version": null}'):
        (note,) = (cache / "compilers").iterdir()
        note.write_text(text)
        assert build([source], cache=cache).version.startswith("zig ")


@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("kill -BUS $$", "SCRIPT says nothing; it ended with signal 7"),
        ("exit 3", "SCRIPT says nothing; it ended with exit code 3"),
        ("printf 'out of \\377 memory'; exit 1", "SCRIPT says nothing; it ended with exit code 1"),
        ("printf 'out of \\377 memory' >&2; exit 1", "out of \N{REPLACEMENT CHARACTER} memory"),
    ],
)
def test_a_compiler_that_fails_without_a_word(does: str, message: str, tmp_path: Path, cache: Path) -> None:
    script = tmp_path / "odd-gcc"
    script.write_text(
        "#!/bin/sh\ncase $* in *--version) printf 'odd \\377 gcc';; *-dumpmachine) echo riscv32;;\n"
        f"*) {does} ;;\nesac\n"
    )
    script.chmod(0o755)
    with pytest.raises(CompileError) as caught:
        build([write(tmp_path, HANDLER.replace('#include "local.h"', ""))], cc=str(script), cache=cache)
    assert caught.value.stderr == message.replace("SCRIPT", str(script))


def test_files_may_have_any_name(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "a b" / "c#d" / "$e$$ 'f\" ü"
    folder.mkdir(parents=True)
    source, header = folder / "my $handler#1.c", folder / "its $header.h"
    source.write_text(
        '#include <handler.h>\n#include "its $header.h"\nvoid a_ph(handler_args_t *args) { (void)WHAT; }\n'
    )
    for what in (1, 2):
        header.write_text(f"#define WHAT {what}\n")
        assert [build([source], cache=cache).cached for _ in range(2)] == [False, True]


def test_processes_share_a_cache(source: Path, cache: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=build, args=([source],), kwargs={"cache": cache}) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert build([source], cache=cache).cached
    assert sorted(path.name.split("-")[0] for path in cache.iterdir() if path.name.startswith("build-")) == []


def test_the_elf_file_also_goes_where_it_is_wanted(source: Path, cache: Path, tmp_path: Path) -> None:
    wanted = tmp_path / "demo.elf"
    assert build([source], cache=cache, out=wanted).elf == wanted
    assert wanted.read_bytes() == build([source], cache=cache).elf.read_bytes()


def test_warnings_are_kept_with_the_build(tmp_path: Path, cache: Path) -> None:
    text = "#include <handler.h>\n__handler__ void w_ph(handler_args_t *a) { if (a->hpu_id = 1) { TERMINATE; } }\n"
    first, second = (build([write(tmp_path, text)], cache=cache) for _ in range(2))
    assert "using the result of an assignment as a condition" in first.messages
    assert second.cached
    assert second.messages == first.messages


def test_what_looks_like_a_handler_and_is_none_is_reported(tmp_path: Path, cache: Path) -> None:
    text = (
        "#include <handler.h>\n"
        "static void help(handler_args_t *args) { (void)args; }\n"
        "__handler__ void good_hh(handler_args_t *args) { help(args); }\n"
        "void good_hp(handler_args_t *args) { help(args); } /* void gone_PH(handler_args_t *args) { } */\n"
        "__handler__ void payload(handler_args_t *args) { help(args); }\n"
    )
    first, second = (build([write(tmp_path, text)], cache=cache) for _ in range(2))
    never = "is called for no packet, since its name ends in none of _hh, _ph and _th"
    assert first.messages.splitlines() == [
        f"note: handler.c: payload {never}: rename payload to payload_ph",
        f"note: handler.c: good_hp {never}: rename good_hp to good_ph",
    ]
    assert second.cached and second.messages == first.messages


# Texts of the errors.


def test_the_compilers_message_is_passed_on(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, "#include <handler.h>\nvoid bad_ph(handler_args_t *args) { return args->taks; }\n")
    with pytest.raises(CompileError) as caught:
        build([path], cache=cache)
    assert caught.value.message == "handler.c does not compile"
    assert str(caught.value) == f"handler.c does not compile\n{caught.value.stderr.strip()}"
    assert isinstance(caught.value, spinet.SpinetError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.stderr) == (str(caught.value), caught.value.stderr)
    assert caught.value.exit_code == 2
    assert (
        caught.value.stderr
        == f"""\
{path}:2:50: error: no member named 'taks' in 'struct handler_args'
    2 | void bad_ph(handler_args_t *args) {{ return args->taks; }}
      |                                            ~~~~  ^
1 error generated.
"""
    )
    assert not list(cache.glob("build-*"))


def test_the_linkers_message_is_passed_on(tmp_path: Path, cache: Path) -> None:
    text = "#include <handler.h>\nvoid elsewhere(void);\n__handler__ void l_ph(handler_args_t *args) { elsewhere(); }\n"
    with pytest.raises(CompileError, match=r"^handler\.c does not link\n") as caught:
        build([write(tmp_path, text)], cache=cache)
    assert "undefined symbol: elsewhere" in caught.value.stderr


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "void ping_hp(handler_args_t *args) {}",
            "handler.c has no handler: none of its functions ends in _hh, _ph or _th; it has ping_hp",
            "rename ping_hp to ping_ph",
        ),
        (
            "void ping(handler_args_t *args) {}",
            "handler.c has no handler: none of its functions ends in _hh, _ph or _th; it has ping",
            "rename ping to ping_ph",
        ),
        (
            "static void ping_ph(handler_args_t *args) {}",
            "handler.c has no handler: none of its functions ends in _hh, _ph or _th; it has ping_ph",
            "mark ping_ph with __handler__: the compiler dropped it, since nothing calls it",
        ),
        (
            "int unrelated;",
            "handler.c has no handler: none of its functions ends in _hh, _ph or _th; "
            "it has no function that takes handler_args_t *",
            "write void NAME_ph(handler_args_t *args)",
        ),
    ],
)
def test_missing_handlers_are_named(text: str, message: str, hint: str, tmp_path: Path, cache: Path) -> None:
    with pytest.raises(MissingHandlers) as caught:
        build([write(tmp_path, f"#include <handler.h>\n{text}\n")], cache=cache)
    assert (str(caught.value), caught.value.hint) == (message, hint)


def test_a_wrong_name_meets_its_neighbour(source: Path, cache: Path) -> None:
    with pytest.raises(MissingHandlers) as caught:
        build([source], cache=cache).entry(name="dmeo")
    assert str(caught.value) == "there is no dmeo_hh, dmeo_ph or dmeo_th; the program has demo_hh, demo_ph"
    assert caught.value.hint == "did you mean demo?"


def test_a_program_too_large_says_why(tmp_path: Path, cache: Path) -> None:
    text = '#include <handler.h>\n__handler__ void big_ph(handler_args_t *a) { __asm__ volatile(".zero 40000"); }\n'
    with pytest.raises(ProgramTooLarge) as caught:
        build([write(tmp_path, text)], cache=cache)
    size = caught.value.sections[".text"]
    assert 40000 < size < 42000
    assert str(caught.value).startswith(
        f"the program has {size} bytes of code, program memory holds 32768; largest functions: big_ph 4000"
    )


def test_sources_must_be_there(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "endless.c").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.c")
    with (tmp_path / "huge.c").open("wb") as huge:
        huge.truncate((64 << 20) + 1)
    for path, message in (
        (tmp_path / "endless.c", f"{tmp_path}/endless.c is a pipe or a device, must be a file"),
        (tmp_path / "pipe.c", f"{tmp_path}/pipe.c is a pipe or a device, must be a file"),
        (tmp_path / "huge.c", f"{tmp_path}/huge.c has more than 67108864 bytes, the most that is compiled"),
        (Path("absent.c"), "absent.c does not exist"),
        (tmp_path, f"{tmp_path} is a folder"),
    ):
        with pytest.raises(SourceNotFound) as caught:
            build([path], cache=cache)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("cc", "message"),
    [
        ("no-such-compiler", "no compiler 'no-such-compiler' in the search path"),
        ("gcc", "{gcc} compiles for x86_64-linux-gnu, not for RISC-V"),
        ("false", "{false} does not answer --version"),
    ],
)
def test_a_compiler_that_will_not_do_is_refused(cc: str, message: str, source: Path, cache: Path) -> None:
    with pytest.raises(CompilerNotFound) as caught:
        build([source], cc=cc, cache=cache)
    found = {name: shutil.which(name) for name in ("gcc", "false")}
    assert str(caught.value) == message.format(**found)
    assert caught.value.hint.startswith("pip install ziglang==0.17.0")


def test_the_environment_names_a_compiler(source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPINET_CC", "no-such-compiler")
    with pytest.raises(CompilerNotFound):
        build([source], cache=cache)


def test_the_cache_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPINET_CACHE", str(tmp_path / "own"))
    assert toolchain.cache_dir() == tmp_path / "own"
    monkeypatch.delenv("SPINET_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert toolchain.cache_dir() == tmp_path / "xdg" / "spinet"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert toolchain.cache_dir() == Path(os.path.expanduser("~/.cache/spinet"))
