//! Captures of ends of links, as pcapng files.

use crate::LinkId;
use crate::error::NetError;
use crate::frame::Frame;
use kernel::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::sync::Arc;
use wire::capture::{Interface, InterfaceId, PcapngWriter, WriteError};

/// An end of a link to capture: frames that its node sends, and frames that arrive there. The time of a frame is that of its first bit.
pub struct Capture {
    /// The link.
    pub link: LinkId,
    /// The end: 0 or 1.
    pub end: usize,
    /// The file.
    pub stream: Box<dyn Write + Send>,
}

/// A frame for a capture.
#[derive(Debug)]
pub(crate) struct Captured {
    /// Time, capture, direction, and number on the line.
    pub key: (Time, u32, bool, u64),
    pub frame: Frame,
}

impl PartialEq for Captured {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Captured {}

impl PartialOrd for Captured {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Captured {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// A file, with its interfaces for frames that are sent and that arrive.
type File = (PcapngWriter<Box<dyn Write + Send>>, [InterfaceId; 2]);

/// The files, and frames that are not written yet because earlier frames may still come.
pub(crate) struct Captures {
    files: Vec<File>,
    waiting: BinaryHeap<Reverse<Captured>>,
}

fn refuse(error: WriteError) -> NetError {
    NetError::Observer { failure: Arc::new(error) }
}

impl Captures {
    /// Begins the files. `describe` names the node and port at an end of a link, and the rates of its two directions in bit/s.
    pub fn new(
        captures: Vec<Capture>,
        describe: impl Fn(LinkId, usize) -> (String, [u64; 2]),
    ) -> Result<Self, NetError> {
        let mut files = Vec::new();
        for Capture { link, end, stream } in captures {
            let (name, [out_bps, in_bps]) = describe(link, end);
            let mut writer = PcapngWriter::new(stream, "spinet").map_err(refuse)?;
            let mut interface = |what: &str, link_bps| {
                let (name, description) = (format!("{name} {what}"), String::new());
                writer.add_interface(&Interface { name, description, link_bps }).map_err(refuse)
            };
            let interfaces = [interface("sends", out_bps)?, interface("receives", in_bps)?];
            files.push((writer, interfaces));
        }
        Ok(Captures { files, waiting: BinaryHeap::new() })
    }

    /// Takes frames, and writes all frames up to `until`, because no earlier ones will come.
    pub fn take(&mut self, frames: &mut Vec<Captured>, until: Time) -> Result<(), NetError> {
        self.waiting.extend(frames.drain(..).map(Reverse));
        while self.waiting.peek().is_some_and(|Reverse(captured)| captured.key.0 <= until) {
            if let Some(Reverse(Captured { key: (at, file, is_in, _), frame })) = self.waiting.pop() {
                let (writer, interfaces) = &mut self.files[file as usize];
                writer.write(interfaces[usize::from(is_in)], at.ns(), &frame.bytes, None).map_err(refuse)?;
            }
        }
        Ok(())
    }

    /// Writes all frames and closes the files.
    pub fn close(&mut self) -> Result<(), NetError> {
        self.take(&mut Vec::new(), Time::MAX)?;
        self.files.drain(..).try_for_each(|(writer, _)| writer.finish().map(drop).map_err(refuse))
    }
}
