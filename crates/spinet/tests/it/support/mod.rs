//! Programs for tests, assembled here so that no compiler is needed.

#![allow(dead_code, clippy::unwrap_used, reason = "these are tests, each of which uses a part")]

use isa::riscv::{Operands, row};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::capture::{Interface, PcapngWriter};

/// One instruction.
pub fn asm(name: &str, rd: u8, rs1: u8, rs2: u8, imm: i32) -> u32 {
    let row = row(name).unwrap_or_else(|| panic!("there is no {name}"));
    let operands = Operands { rd, rs1, rs2, rs3: 0, imm };
    row.encode(operands).unwrap_or_else(|| panic!("{name} cannot have {operands:?}"))
}

/// A part of a program: address and words.
pub type Text<'a> = (u32, &'a [u32]);

/// An ELF file of these parts and functions.
pub fn elf(entry: u32, parts: &[Text], symbols: &[(&str, u32)]) -> Vec<u8> {
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = vec![0; 52];
    let mut offsets = Vec::new();
    for (_, words) in parts {
        offsets.push(file.len() as u32);
        file.extend(bytes(words));
    }
    let (mut names, mut table) = (vec![0], vec![0; 16]);
    for (name, addr) in symbols {
        table.extend(bytes(&[names.len() as u32, *addr, 0]));
        table.extend([0x12, 0, 1, 0]); // A global function of section 1.
        names.extend(name.as_bytes());
        names.push(0);
    }
    let (names_at, table_at) = (file.len() as u32, (file.len() + names.len()) as u32);
    let (n_names, n_table) = (names.len() as u32, table.len() as u32);
    file.extend(names);
    file.extend(table);
    let segments_at = file.len() as u32;
    for ((addr, words), offset) in parts.iter().zip(&offsets) {
        let size = words.len() as u32 * 4;
        file.extend(bytes(&[1, *offset, *addr, *addr, size, size, 7, 4]));
    }
    let sections_at = file.len() as u32;
    let n = parts.len() as u32;
    file.extend(bytes(&[0; 10]));
    for ((addr, words), offset) in parts.iter().zip(&offsets) {
        file.extend(bytes(&[0, 1, 6, *addr, *offset, words.len() as u32 * 4, 0, 0, 4, 0]));
    }
    file.extend(bytes(&[0, 3, 0, 0, names_at, n_names, 0, 0, 1, 0]));
    file.extend(bytes(&[0, 2, 0, 0, table_at, n_table, n + 1, 1, 4, 16]));
    let header = [
        0x464c_457f,
        0x0001_0101,
        0,
        0,
        0x00f3_0002,
        1,
        entry,
        segments_at,
        sections_at,
        0,
        0x0020_0034,
        0x0028_0000 | n,
        (n + 1) << 16 | (n + 3),
    ];
    file[..52].copy_from_slice(&bytes(&header));
    file
}

/// Base of the HPU driver's registers.
const DRIVER: i32 = 0x1b20_5000;
const RA: u8 = 1;
const A0: u8 = 10;
const A1: u8 = 11;
const A2: u8 = 12;
const A3: u8 = 13;
const A4: u8 = 14;

fn load(rd: u8, offset: i32) -> u32 {
    asm("lw", rd, A1, 0, offset)
}

fn store(rs2: u8, offset: i32) -> u32 {
    asm("sw", 0, A1, rs2, offset)
}

fn ret() -> u32 {
    asm("jalr", 0, RA, 0, 0)
}

/// A program for PsPIN without a runtime: every core waits for a task, calls the handler and rings the doorbell. Handlers
/// stay in machine mode and use registers from `a2` on.
///
/// | handler | what it does |
/// |---|---|
/// | `echo_ph` | sends the packet back |
/// | `store_hh`, `store_ph`, `store_th` | nothing; copies the packet to host memory; writes 8 bytes behind it |
/// | `loop_ph` | never ends |
/// | `tally_ph`, `tally_th` | counts a packet in handler memory; writes the count to the first 4 bytes of host memory |
pub fn nic_program() -> Vec<u8> {
    program(Some(boot()), 0x1d00_0100)
}

/// The boot code of that program alone.
pub fn runtime() -> Vec<u8> {
    elf(0x1d00_0080, &[(0x1d00_0080, &boot())], &[("_start", 0x1d00_0080)])
}

/// Its handlers alone, `echo_ph` at `addr` and the others behind it, for a card that already has a runtime.
pub fn handlers_at(addr: u32) -> Vec<u8> {
    program(None, addr)
}

fn boot() -> [u32; 5] {
    [asm("lui", A1, 0, 0, DRIVER), load(A0, 0), asm("jalr", RA, A0, 0, 0), load(A0, 0x50), asm("jal", 0, 0, 0, -12)]
}

fn program(boot: Option<[u32; 5]>, addr: u32) -> Vec<u8> {
    let echo = [
        load(A2, 0x10),
        load(A3, 0x14),
        store(0, 0x90),
        store(0, 0x94),
        store(A2, 0x98),
        store(0, 0x9c),
        store(A3, 0xa0),
        asm("addi", A4, 0, 0, 2),
        store(A4, 0x8c),
        load(A0, 0x80),
        ret(),
    ];
    let to_host = [
        load(A2, 0x3c), // Host address, low word.
        load(A3, 0x38), // High word.
        store(A2, 0x90),
        store(A3, 0x94),
        load(A2, 0x10),
        store(A2, 0x98),
        load(A2, 0x14),
        store(A2, 0x9c),
        asm("addi", A4, 0, 0, 1),
        store(A4, 0xa0),
        store(0, 0x8c),
        load(A0, 0x80),
        ret(),
    ];
    let host_direct = [
        load(A2, 0x3c),
        load(A3, 0x38),
        asm("addi", A2, A2, 0, 2032),
        store(A2, 0x90),
        store(A3, 0x94),
        asm("addi", A4, 0, 0, 0x11),
        store(A4, 0x98),
        store(A4, 0x9c),
        store(A4, 0xa0),
        asm("addi", A4, 0, 0, 4),
        store(A4, 0x8c),
        load(A0, 0x80),
        ret(),
    ];
    let count = [
        load(A2, 0x08), // Handler memory.
        asm("addi", A3, 0, 0, 1),
        asm("amoadd.w", 0, A2, A3, 0),
        ret(),
    ];
    let tell = [
        load(A2, 0x08),
        asm("lw", A4, A2, 0, 0),
        load(A2, 0x3c),
        load(A3, 0x38),
        store(A2, 0x90),
        store(A3, 0x94),
        asm("addi", A2, 0, 0, 4 << 1 | 1),
        store(A2, 0x98),
        store(A4, 0x9c),
        asm("addi", A4, 0, 0, 4),
        store(A4, 0x8c),
        load(A0, 0x80),
        ret(),
    ];
    let [store_hh, store_ph, store_th, endless, tally_ph, tally_th] =
        [0x80, 0x100, 0x180, 0x200, 0x280, 0x300].map(|offset| addr + offset);
    let (nothing, for_ever) = ([ret()], [asm("jal", 0, 0, 0, 0)]);
    let mut parts: Vec<Text> = vec![
        (addr, &echo),
        (store_hh, &nothing),
        (store_ph, &to_host),
        (store_th, &host_direct),
        (endless, &for_ever),
        (tally_ph, &count),
        (tally_th, &tell),
    ];
    let mut symbols = vec![
        ("echo_ph", addr),
        ("store_hh", store_hh),
        ("store_ph", store_ph),
        ("store_th", store_th),
        ("loop_ph", endless),
        ("tally_ph", tally_ph),
        ("tally_th", tally_th),
    ];
    if let Some(boot) = &boot {
        parts.insert(0, (0x1d00_0080, boot));
        symbols.insert(0, ("_start", 0x1d00_0080));
    }
    elf(0x1d00_0080, &parts, &symbols)
}

/// A UDP packet of `bytes` bytes, including its headers.
pub fn udp(src_port: u16, dst_port: u16, bytes: usize) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..bytes).map(|at| (at as u16 * 7 + src_port) as u8).collect();
    packet[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    packet[16..18].copy_from_slice(&(bytes as u16 - 14).to_be_bytes());
    packet[18..24].copy_from_slice(&[0, 0, 0, 0, 64, 17]);
    packet[34..36].copy_from_slice(&src_port.to_be_bytes());
    packet[36..38].copy_from_slice(&dst_port.to_be_bytes());
    packet[38..40].copy_from_slice(&(bytes as u16 - 34).to_be_bytes());
    packet
}

/// A folder for one test's files.
pub fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The folder of a test with `nic.elf` in it.
pub fn folder_with_program(test: &str) -> PathBuf {
    let folder = folder(test);
    std::fs::write(folder.join("nic.elf"), nic_program()).unwrap();
    folder
}

/// The address of the Tigon-2's host.
const CARD: [u8; 6] = [0, 0x60, 0xcf, 0, 0, 1];

/// A capture of frames of these sizes, each `gap` after the one before, for the Tigon-2's host.
pub fn capture_of(name: &str, sizes: &[usize], gap: Duration) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut writer = PcapngWriter::new(std::fs::File::create(&path).unwrap(), "test").unwrap();
    let port = writer.add_interface(&Interface { name: "p".into(), ..Interface::default() }).unwrap();
    for (id, &size) in sizes.iter().enumerate() {
        let mut bytes = vec![id as u8; size];
        bytes[..14].copy_from_slice(&[0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 8, 0]);
        bytes[..6].copy_from_slice(&CARD);
        writer.write(port, id as u64 * gap.as_nanos() as u64, &bytes, None).unwrap();
    }
    writer.finish().unwrap();
    path.display().to_string()
}
