//! What a wiring says about the host.

use super::window::mode;
use blocks::ethernet::Frame;
use blocks::feeders::{Offered, TrafficError};
use std::collections::BTreeMap;
use wire::eth::{MIN_PACKET_LEN, Mac};

/// assumed: more groups than a host is in; each is a command at start-up.
const MOST_GROUPS: usize = 64;

/// A host whose driver speaks to a Tigon-2 as Linux's `acenic` does.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tigon2HostParams {
    /// Where the memory begins that the host shows to the card; a multiple of 4096, anywhere in 64 bits.
    pub memory_base: u64,
    /// Ethernet address that the host gives to the card, as in `02:00:00:00:00:01`; `eeprom` for the one that the card has.
    pub mac: String,
    /// Largest frame in bytes, with header and check sequence.
    pub mtu: u32,
    /// Mode word (host offset 0x618). The swap bits 0x16 must be set: the host is big-endian.
    pub mode: u32,
    /// Memory bank bits of the local control register (host offset 0x44).
    pub local_control: u32,
    /// PCI state register (host offset 0x5C): commands, burst limits.
    pub pci_state: u32,
    /// Link words (host offsets 0x648 and 0x64C).
    pub link: u32,
    /// DMA read and write configuration words (host offsets 0x61C and 0x620): thresholds.
    pub dma_config: u32,
    /// Share of the buffer memory that is for sending, in 64ths; 0 leaves it to the firmware.
    pub transmit_ratio_64ths: u32,
    /// Where clearing of card memory ends that begins at 0x2000; 0 clears nothing.
    pub clear_end: u32,
    /// Longest wait for firmware to say that it runs, and later for the link to be up, in microseconds.
    pub boot_timeout_us: u64,
    /// How long the card may leave a ring alone in which something waits before that is diagnosed, in microseconds.
    pub watchdog_us: u64,
    /// Whether the card is to hand on frames that are for others.
    pub promiscuous: bool,
    /// Group addresses whose frames the card is to hand on, at most 64, as in `01:00:5e:00:00:fb`.
    pub groups: Vec<String>,
    /// The sending side.
    pub send: SendParams,
    /// The receiving side.
    pub receive: ReceiveParams,
    /// When the card tells the host.
    pub coalescing: Coalescing,
    /// How the host hears of it.
    pub interrupts: Interrupts,
    /// From an interrupt to the driver's first access, in nanoseconds.
    pub interrupt_latency_ns: u64,
    /// What the host's processor spends on a frame, sent or received, in nanoseconds.
    pub frame_ns: u64,
    /// How many frames' times are kept for the report, each way, 32 bytes each; later ones are counted only.
    pub kept_times: usize,
}

/// The sending side of the driver.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendParams {
    /// Where the ring is.
    pub ring: SendRing,
    /// Descriptors of the ring: 128, 256 or 512.
    pub entries: u32,
    /// Bytes of the first of the two descriptors of a frame, for its headers; a frame that is no longer has one descriptor.
    pub header_bytes: u32,
    /// Frames that are announced together when there are as many.
    pub batch_frames: u32,
    /// Frames that wait for the card at most.
    pub frames_ahead: u32,
}

/// Where the send ring is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SendRing {
    /// In host memory; the card fetches descriptors.
    Host,
    /// In card memory, below 0x4000; the host writes descriptors through the window.
    Card,
}

/// The receiving side of the driver.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiveParams {
    /// Buffers of 1518 bytes that are posted, 1 to 511.
    pub standard_buffers: u32,
    /// Buffers for short frames that are posted, 0 to 1023; 0 disables their ring.
    pub mini_buffers: u32,
    /// Buffers for frames up to the MTU that are posted, 0 to 255; 0 disables their ring.
    pub jumbo_buffers: u32,
    /// Buffers that are posted again together.
    pub batch_buffers: u32,
    /// Entries of the return ring: 1024 or 2048.
    pub return_entries: u32,
    /// Whether the host tells how far it has read the return ring (host offset 0x680).
    pub tells_consumer: bool,
}

/// Times and limits after which the card tells the host, as the communication words hold them.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coalescing {
    /// Receive coalescing time in microseconds.
    pub receive_us: u32,
    /// Send coalescing time in microseconds.
    pub send_us: u32,
    /// Distance of statistics updates in microseconds; 0 for none.
    pub statistics_us: u32,
    /// Received descriptors after which the host is told.
    pub receive_descriptors: u32,
    /// Sent descriptors after which the host is told.
    pub send_descriptors: u32,
}

/// How the host hears of what the card has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Interrupts {
    /// By interrupts, which it acknowledges by writing 0 to mailbox 0 before it looks (Linux).
    Acknowledge,
    /// By interrupts, which it masks by writing 1 to mailbox 0 while it looks (BSD).
    Mask,
    /// Interrupts are masked; it looks that often.
    Poll {
        /// Distance of two looks in nanoseconds.
        every_ns: u64,
    },
}

impl Tigon2HostParams {
    /// The Ethernet address, unless the card's EEPROM has it.
    pub(super) fn mac(&self) -> Option<Mac> {
        self.mac.parse().ok()
    }

    /// The groups, as far as they are addresses.
    pub(super) fn groups(&self) -> impl Iterator<Item = Mac> {
        self.groups.iter().filter_map(|group| group.parse().ok())
    }

    /// Bytes of the longest frame without check sequence, by parameters as a wiring says them.
    pub fn longest_of(parameters: &BTreeMap<String, toml::Value>) -> Option<usize> {
        let mtu = usize::try_from(parameters.get("mtu")?.as_integer()?).ok()?;
        mtu.checked_sub(Frame::FCS_BYTES as usize)
    }

    /// What is wrong with the traffic of a run for this host: frames that are too short to be sent, or too long for the MTU.
    pub fn check_traffic(&self, offered: &Offered) -> Result<(), TrafficError> {
        let most = self.mtu as usize - Frame::FCS_BYTES as usize;
        offered.host.check(MIN_PACKET_LEN, most)?;
        offered.network.check(1, most)
    }

    /// What is wrong beyond types: what was found and what is allowed.
    pub(super) fn validate(&self) -> Result<(), String> {
        if self.mac().is_none() && self.mac != "eeprom" {
            return Err(format!("mac is `{}`, must be an address such as 02:00:00:00:00:01, or `eeprom`", self.mac));
        }
        let is_group = |text: &String| text.parse().is_ok_and(|mac: Mac| mac.0[0] & 1 == 1);
        if let Some(wrong) = self.groups.iter().find(|text| !is_group(text)) {
            return Err(format!("groups has `{wrong}`, must be group addresses such as 01:00:5e:00:00:fb"));
        }
        if self.groups.len() > MOST_GROUPS {
            return Err(format!("groups has {} addresses, must be at most {MOST_GROUPS}", self.groups.len()));
        }
        let in_range = |name: &str, value: u64, least: u64, most: u64| {
            let is_in = (least..=most).contains(&value);
            if is_in { Ok(()) } else { Err(format!("{name} is {value}, must be {least} to {most}")) }
        };
        let one_of = |name: &str, value: u32, allowed: &[u32]| {
            if allowed.contains(&value) {
                Ok(())
            } else {
                Err(format!("{name} is {value}, must be one of {allowed:?}"))
            }
        };
        if !self.memory_base.is_multiple_of(4096) || self.memory_base > u64::MAX >> 1 {
            return Err(format!("memory_base is 0x{:x}, must be a multiple of 4096 below 2^63", self.memory_base));
        }
        if self.mode & mode::NEEDED != mode::NEEDED {
            return Err(format!("mode is 0x{:x}, must have the bits 0x{:x}", self.mode, mode::NEEDED));
        }
        let (send, receive) = (&self.send, &self.receive);
        let most_mtu = if receive.jumbo_buffers == 0 { 1518 } else { 9018 };
        in_range("mtu", self.mtu.into(), 64, most_mtu)?;
        in_range("transmit_ratio_64ths", self.transmit_ratio_64ths.into(), 0, 63)?;
        in_range("clear_end", self.clear_end.into(), 0, 0x80_0000)?;
        in_range("boot_timeout_us", self.boot_timeout_us, 1, 60_000_000)?;
        in_range("watchdog_us", self.watchdog_us, 1, 60_000_000)?;
        in_range("interrupt_latency_ns", self.interrupt_latency_ns, 0, 1_000_000_000)?;
        in_range("frame_ns", self.frame_ns, 0, 1_000_000_000)?;
        one_of("send.entries", send.entries, &[128, 256, 512])?;
        in_range("send.header_bytes", send.header_bytes.into(), 14, 64)?;
        in_range("send.frames_ahead", send.frames_ahead.into(), 1, u64::from(send.entries - 1) / 2)?;
        in_range("send.batch_frames", send.batch_frames.into(), 1, send.frames_ahead.into())?;
        in_range("receive.standard_buffers", receive.standard_buffers.into(), 1, 511)?;
        in_range("receive.mini_buffers", receive.mini_buffers.into(), 0, 1023)?;
        in_range("receive.jumbo_buffers", receive.jumbo_buffers.into(), 0, 255)?;
        let fewest = [receive.mini_buffers, receive.jumbo_buffers].into_iter().filter(|&buffers| buffers > 0).min();
        let fewest = fewest.unwrap_or(u32::MAX).min(receive.standard_buffers);
        in_range("receive.batch_buffers", receive.batch_buffers.into(), 1, fewest.into())?;
        one_of("receive.return_entries", receive.return_entries, &[1024, 2048])?;
        if let Interrupts::Poll { every_ns } = self.interrupts {
            in_range("interrupts.poll.every_ns", every_ns, 1, 1_000_000_000)?;
        }
        Ok(())
    }
}
