//! Writes pcapng (draft-ietf-opsawg-pcapng), little-endian, times in nanoseconds.

use super::LINK_TYPE_ETHERNET;
use std::io::{self, Write};

const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const OPTION_SHB_USERAPPL: u16 = 4;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_DESCRIPTION: u16 = 3;
const OPTION_IF_SPEED: u16 = 8;
const OPTION_IF_TSRESOL: u16 = 9;

/// Error of writing a capture.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The stream failed.
    #[error("writing the capture: {0}")]
    Io(#[from] io::Error),
    /// A text is too long for an option of pcapng.
    #[error("{what} has {found} bytes, must be at most 65535")]
    TextTooLong {
        /// Name of the text.
        what: &'static str,
        /// Its length, in bytes.
        found: usize,
    },
    /// A packet is longer than pcapng allows.
    #[error("packet has {found} bytes, must be at most 1048000")]
    PacketTooLong {
        /// Its length, in bytes.
        found: usize,
    },
    /// The interface was not added to this capture.
    #[error("interface {found}, must be below {n_interfaces}")]
    NoInterface {
        /// Number of the interface.
        found: u32,
        /// Number of interfaces.
        n_interfaces: u32,
    },
}

/// Interface on which packets were captured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Name, such as `nic.tx`.
    pub name: String,
    /// Description for readers.
    pub description: String,
    /// Rate of the link, in bit/s; 0 omits it.
    pub link_bps: u64,
}

/// Number of an interface within its capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// Writes one section of Ethernet packets.
pub struct PcapngWriter<W: Write> {
    stream: W,
    n_interfaces: u32,
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a capture; `application` is the name of the writing program.
    pub fn new(stream: W, application: &str) -> Result<Self, WriteError> {
        let mut writer = Self { stream, n_interfaces: 0, block: Vec::new() };
        writer.begin(0x0a0d_0d0a);
        writer.words(&[0x1a2b_3c4d, 1]); // Byte order; version 1.0.
        writer.words(&[u32::MAX, u32::MAX]); // Length of the section: unknown.
        writer.option(OPTION_SHB_USERAPPL, "application name", application.as_bytes())?;
        writer.end_options();
        writer.end()?;
        Ok(writer)
    }

    /// Adds an interface for the following packets.
    pub fn add_interface(&mut self, interface: &Interface) -> Result<InterfaceId, WriteError> {
        self.begin(1);
        self.words(&[u32::from(LINK_TYPE_ETHERNET), 0]); // No snap length.
        self.option(OPTION_IF_NAME, "interface name", interface.name.as_bytes())?;
        if !interface.description.is_empty() {
            self.option(OPTION_IF_DESCRIPTION, "interface description", interface.description.as_bytes())?;
        }
        if interface.link_bps != 0 {
            self.option(OPTION_IF_SPEED, "interface speed", &interface.link_bps.to_le_bytes())?;
        }
        self.option(OPTION_IF_TSRESOL, "time resolution", &[9])?;
        self.end_options();
        self.end()?;
        self.n_interfaces += 1;
        Ok(InterfaceId(self.n_interfaces - 1))
    }

    /// Writes a packet without FCS, at `time_ns` nanoseconds.
    pub fn write(
        &mut self,
        interface: InterfaceId,
        time_ns: u64,
        packet: &[u8],
        comment: Option<&str>,
    ) -> Result<(), WriteError> {
        if packet.len() > 1_048_000 {
            return Err(WriteError::PacketTooLong { found: packet.len() });
        }
        if interface.0 >= self.n_interfaces {
            return Err(WriteError::NoInterface { found: interface.0, n_interfaces: self.n_interfaces });
        }
        let len = packet.len() as u32;
        self.begin(6);
        self.words(&[interface.0, (time_ns >> 32) as u32, time_ns as u32, len, len]);
        self.block.extend_from_slice(packet);
        self.pad();
        if let Some(comment) = comment {
            self.option(OPTION_COMMENT, "comment", comment.as_bytes())?;
            self.end_options();
        }
        self.end()
    }

    /// Flushes the stream.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        Ok(self.stream.flush()?)
    }

    /// Flushes and returns the stream.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.stream.flush()?;
        Ok(self.stream)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.words(&[kind, 0]);
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.block.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, what: &'static str, value: &[u8]) -> Result<(), WriteError> {
        let len = u16::try_from(value.len()).map_err(|_| WriteError::TextTooLong { what, found: value.len() })?;
        self.block.extend_from_slice(&code.to_le_bytes());
        self.block.extend_from_slice(&len.to_le_bytes());
        self.block.extend_from_slice(value);
        self.pad();
        Ok(())
    }

    fn end_options(&mut self) {
        self.words(&[u32::from(OPTION_END)]);
    }

    fn end(&mut self) -> Result<(), WriteError> {
        let len = self.block.len() as u32 + 4;
        self.block[4..8].copy_from_slice(&len.to_le_bytes());
        self.words(&[len]);
        self.stream.write_all(&self.block)?;
        Ok(())
    }
}
