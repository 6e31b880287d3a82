//! Keeps changes of signals in files of their own until the file of waveforms can be written.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// Writes a number of a change.
pub(super) fn write_varint(out: &mut impl Write, mut number: u64) -> io::Result<()> {
    let (mut bytes, mut n) = ([0; 10], 0);
    while number > 0x7f {
        bytes[n] = number as u8 & 0x7f | 0x80;
        number >>= 7;
        n += 1;
    }
    bytes[n] = number as u8;
    out.write_all(&bytes[..=n])
}

/// Time, signal and value of a change.
pub(super) type Change = (u64, usize, Option<u64>);

/// Bytes of changes that are read at once. A file is open only while it is read, because a network can have more files than a process may
/// have open.
const READ: u64 = 1 << 16;

/// The changes of signals in a file, read back.
pub(super) struct Changes {
    file: PathBuf,
    /// Number of bytes of the file that were read, and those bytes of them that were not used yet.
    read: u64,
    bytes: VecDeque<u8>,
    at: u64,
    /// Numbers in the joined file of its first signal and of its first text.
    first_signal: usize,
    first_text: u64,
}

impl Changes {
    /// Changes from the time `start` on.
    pub fn new(file: PathBuf, start: u64, first_signal: usize, first_text: u64) -> Changes {
        Changes { file, read: 0, bytes: VecDeque::new(), at: start, first_signal, first_text }
    }

    /// The next change.
    fn next(&mut self, are_texts: &[bool]) -> io::Result<Option<Change>> {
        let Some(takes) = self.varint()? else { return Ok(None) };
        self.at += takes;
        let cut = || io::Error::from(ErrorKind::UnexpectedEof);
        let signal = self.varint()?.ok_or_else(cut)?;
        let value = if signal & 1 == 1 { Some(self.varint()?.ok_or_else(cut)?) } else { None };
        let signal = (signal >> 1) as usize + self.first_signal;
        let is_text = are_texts.get(signal) == Some(&true);
        let value = value.map(|value| if is_text { value + self.first_text } else { value });
        Ok(Some((self.at, signal, value)))
    }

    /// The next number; `None` at the end.
    fn varint(&mut self) -> io::Result<Option<u64>> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let Some(byte) = self.byte()? else { return Ok(None) };
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Ok(Some(number));
            }
        }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        if self.bytes.is_empty() {
            let mut file = File::open(&self.file)?;
            file.seek(SeekFrom::Start(self.read))?;
            let mut bytes = Vec::new();
            self.read += file.take(READ).read_to_end(&mut bytes)? as u64;
            self.bytes = bytes.into();
        }
        Ok(self.bytes.pop_front())
    }
}

/// A change by its time, the position of its file, its signal and its value, in the order in which changes are merged.
type Next = Reverse<(u64, usize, usize, Option<u64>)>;

/// The changes of several files in order of time. Changes at the same time are in the order of the files.
pub(super) struct Merged {
    files: Vec<Changes>,
    next: BinaryHeap<Next>,
    /// For each signal, whether its values are texts.
    are_texts: Vec<bool>,
}

impl Merged {
    /// All changes of these files.
    pub fn new(files: Vec<Changes>, are_texts: Vec<bool>) -> io::Result<Merged> {
        let mut merged = Merged { next: BinaryHeap::with_capacity(files.len()), files, are_texts };
        (0..merged.files.len()).try_for_each(|file| merged.read(file))?;
        Ok(merged)
    }

    fn read(&mut self, file: usize) -> io::Result<()> {
        let change = self.files[file].next(&self.are_texts)?;
        self.next.extend(change.map(|(at, signal, value)| Reverse((at, file, signal, value))));
        Ok(())
    }

    /// The next change.
    pub fn next(&mut self) -> io::Result<Option<Change>> {
        let Some(Reverse((at, file, signal, value))) = self.next.pop() else { return Ok(None) };
        self.read(file)?;
        Ok(Some((at, signal, value)))
    }
}
