//! Initial contents of the NIC's memories, from an ELF file, S-records, or a folder of memory images.

use crate::Error;
use crate::{files, slm, srec};
use pspin::{Image, PspinParams, map};
use spinet::elf::Elf;
use spinet::program;
use std::path::Path;

/// Number of cuts of L2 handler memory. Each cut has an image; words of 8 bytes are interleaved over the cuts.
const HANDLER_CUTS: usize = 32;
/// Program memory.
const PROGRAM: &str = "prog_mem_stim.slm";
/// Handler memory in one image, from which the images of the cuts are made.
const HANDLER: &str = "l2_hnd_stim.slm";

/// Reads the program at `path`.
pub fn read(path: &Path, params: &PspinParams) -> Result<Image, Error> {
    if path.is_dir() {
        return from_folder(path, params);
    }
    let (file, data) = (path.display().to_string(), files::read(path, files::PROGRAM_BYTES)?);
    match str::from_utf8(&data) {
        Ok(text) if srec::is_srec(&data) => from_records(file, text, params),
        _ => Ok(program::load(&Elf::parse(file, data)?, params)?.image),
    }
}

/// Ignores bytes outside program memory and handler memory, as PsPIN's images do.
fn from_records(file: String, text: &str, params: &PspinParams) -> Result<Image, Error> {
    let records = srec::read(text).map_err(|(line, problem)| Error::Text { file, line, problem })?;
    let mut image = Image::default();
    for (addr, bytes) in records {
        let within = |base: u32, size: u32| {
            let end = u64::from(addr) + bytes.len() as u64;
            addr >= base && end <= u64::from(base) + u64::from(size)
        };
        if within(map::PROGRAM_BASE, params.l2.program_bytes) {
            put(&mut image.program, addr - map::PROGRAM_BASE, &bytes);
        } else if within(map::L2_HANDLER_BASE, params.l2.handler_bytes) {
            image.handler_memory.push((addr, bytes));
        }
    }
    Ok(image)
}

/// Copies bytes into program memory.
fn put(program: &mut Vec<u8>, at: u32, bytes: &[u8]) {
    let (at, end) = (at as usize, at as usize + bytes.len());
    program.resize(program.len().max(end), 0);
    program[at..end].copy_from_slice(bytes);
}

/// Returns true if a program can be read from the path.
pub fn is_there(path: &Path) -> bool {
    path.is_file() || path.join(PROGRAM).is_file()
}

fn from_folder(folder: &Path, params: &PspinParams) -> Result<Image, Error> {
    if !folder.join(PROGRAM).is_file() {
        return Err(Error::NotAProgram { file: folder.display().to_string() });
    }
    let mut image = Image::default();
    let program = Memory { base: 0, bytes: params.l2.program_bytes.into() };
    for (addr, bytes) in program.read(folder, PROGRAM, |word, width| word * width)? {
        put(&mut image.program, addr, &bytes);
    }
    let handler = Memory { base: map::L2_HANDLER_BASE, bytes: params.l2.handler_bytes.into() };
    // The single image has the same bytes, with their addresses.
    if folder.join(HANDLER).is_file() {
        image.handler_memory = handler.read(folder, HANDLER, |word, width| word * width)?;
        return Ok(image);
    }
    for cut in 0..HANDLER_CUTS as u64 {
        let file = format!("l2_hnd_0_{cut}.slm");
        if folder.join(&file).is_file() {
            let place = |word: u64, width: u64| (word * HANDLER_CUTS as u64 + cut) * width;
            image.handler_memory.extend(handler.read(folder, &file, place)?);
        }
    }
    Ok(image)
}

/// A memory of the NIC.
struct Memory {
    base: u32,
    bytes: u64,
}

impl Memory {
    /// The words of a file with their addresses. `place` computes an offset from a word's number and its length in
    /// bytes.
    fn read(&self, folder: &Path, file: &str, place: impl Fn(u64, u64) -> u64) -> Result<Vec<(u32, Vec<u8>)>, Error> {
        let path = folder.join(file);
        let name = path.display().to_string();
        let text = files::read_text(&path, files::PROGRAM_BYTES)?;
        let words = slm::read(&text).map_err(|(line, problem)| Error::Text { file: name.clone(), line, problem })?;
        let mut placed = Vec::with_capacity(words.words.len());
        for (word, bytes) in words.bytes() {
            let offset = place(word, bytes.len() as u64);
            if offset + bytes.len() as u64 > self.bytes {
                let found = format!("{name}: word {word:#x}");
                return Err(Error::Argument {
                    what: "the end of an image",
                    found,
                    allowed: format!("within {} bytes", self.bytes),
                });
            }
            placed.push((self.base + offset as u32, bytes));
        }
        Ok(placed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::path::PathBuf;

    fn params() -> PspinParams {
        spinet::nics::load("pspin-rtl", &[], Path::new("")).expect("a preset")
    }

    fn check(files: &[(&str, &str)], want: Expect) {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        let shown = match read(folder.path(), &params()) {
            Ok(image) => format!("program {:02x?}\nhandler memory {:x?}", image.program, image.handler_memory),
            Err(error) => error.to_string().replace(&folder.path().display().to_string(), "FOLDER"),
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn cuts_of_handler_memory_are_interleaved() {
        let program = ("prog_mem_stim.slm", "@00000001 0011223344556677");
        check(
            &[program, ("l2_hnd_0_0.slm", "@1 0000000000000001"), ("l2_hnd_0_31.slm", "@0 0000000000000002")],
            expect![[r#"
            program [00, 00, 00, 00, 00, 00, 00, 00, 77, 66, 55, 44, 33, 22, 11, 00]
            handler memory [(1c000100, [1, 0, 0, 0, 0, 0, 0, 0]), (1c0000f8, [2, 0, 0, 0, 0, 0, 0, 0])]"#]],
        );
        check(
            &[program, ("l2_hnd_stim.slm", "@3 00000102"), ("l2_hnd_0_0.slm", "@0 0000000000000009")],
            expect![[r#"
            program [00, 00, 00, 00, 00, 00, 00, 00, 77, 66, 55, 44, 33, 22, 11, 00]
            handler memory [(1c00000c, [2, 1, 0, 0])]"#]],
        );
    }

    #[test]
    fn invalid_images_are_refused() {
        check(
            &[],
            expect![
                "FOLDER: prog_mem_stim.slm is missing; write a folder with memory images, or an ELF file; `spinet build` makes both"
            ],
        );
        check(
            &[("prog_mem_stim.slm", "@00001000 0011223344556677")],
            expect!["the end of an image is FOLDER/prog_mem_stim.slm: word 0x1000, must be within 32768 bytes"],
        );
        check(
            &[("prog_mem_stim.slm", "@0 0")],
            expect!["FOLDER/prog_mem_stim.slm: line 1: `0` has 1 digits, must have 8 or 16"],
        );
    }

    #[test]
    fn an_elf_file_is_a_program_too() {
        let elf = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../pspin/tests/elf/ping_pong.elf");
        assert!(is_there(&elf) && !read(&elf, &params()).expect("a program").program.is_empty());
    }
}
