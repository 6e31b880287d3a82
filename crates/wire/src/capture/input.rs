//! A buffered stream that knows its position and distinguishes a clean end from a truncation.

use std::io::{self, BufReader, Read};

/// Result of filling a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// The buffer is full.
    Whole,
    /// The stream ended before the first byte.
    End,
    /// The stream ended after this many bytes.
    Part(usize),
}

pub(crate) struct Input<R> {
    stream: BufReader<R>,
    /// Bytes read so far.
    pub(crate) offset: u64,
}

impl<R: Read> Input<R> {
    pub(crate) fn new(stream: R) -> Self {
        Self { stream: BufReader::with_capacity(1 << 16, stream), offset: 0 }
    }

    /// Fills `buffer` until the stream ends.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> io::Result<Fill> {
        let mut done = 0;
        while done < buffer.len() {
            match self.stream.read(&mut buffer[done..]) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.offset += done as u64;
        Ok(match done {
            n if n == buffer.len() => Fill::Whole,
            0 => Fill::End,
            n => Fill::Part(n),
        })
    }

    /// Skips `len` bytes. Returns false if the stream ends before.
    pub(crate) fn skip(&mut self, len: u64) -> io::Result<bool> {
        let passed = io::copy(&mut (&mut self.stream).take(len), &mut io::sink())?;
        self.offset += passed;
        Ok(passed == len)
    }
}

/// Byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Big,
    Little,
}

impl Order {
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let word = [bytes[at], bytes[at + 1]];
        if self == Self::Big { u16::from_be_bytes(word) } else { u16::from_le_bytes(word) }
    }

    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self == Self::Big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }
}
