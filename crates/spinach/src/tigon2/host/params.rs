//! Parameters of the host.

use super::window::mode;
use blocks::ethernet::Frame;
use blocks::feeders::{Offered, TrafficError};
use std::collections::BTreeMap;
use wire::eth::{MIN_PACKET_LEN, Mac};

/// assumed: more groups than a host normally joins; each is a command at start-up.
const MOST_GROUPS: usize = 64;

/// A host whose driver speaks to a Tigon-2 as Linux's `acenic` does.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tigon2HostParams {
    /// Start of the host memory visible to the card; a multiple of 4096, anywhere in 64 bits.
    pub memory_base: u64,
    /// MAC address that the host assigns to the card, for example `02:00:00:00:00:01`; `eeprom` keeps the card's own.
    pub mac: String,
    /// Longest frame in bytes, with header and check sequence.
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
    /// Share of the buffer memory for sending, in 64ths; 0 leaves it to the firmware.
    pub transmit_ratio_64ths: u32,
    /// End of the range of card memory to clear, which begins at 0x2000; 0 clears nothing.
    pub clear_end: u32,
    /// Timeout for firmware to report that it runs, and later that the link is up, in microseconds.
    pub boot_timeout_us: u64,
    /// Time without activity on a nonempty ring after which the card is diagnosed, in microseconds.
    pub watchdog_us: u64,
    /// True if the card shall forward frames for other stations.
    pub promiscuous: bool,
    /// Multicast addresses to receive, at most 64, for example `01:00:5e:00:00:fb`.
    pub groups: Vec<String>,
    /// The sending side.
    pub send: SendParams,
    /// The receiving side.
    pub receive: ReceiveParams,
    /// When the card notifies the host.
    pub coalescing: Coalescing,
    /// How the host is notified.
    pub interrupts: Interrupts,
    /// Time from an interrupt to the driver's first access, in nanoseconds.
    pub interrupt_latency_ns: u64,
    /// Time that the host's processor spends on each sent or received frame, in nanoseconds.
    pub frame_ns: u64,
    /// Number of frame times kept for the report in each direction, 32 bytes each; later frames are only counted.
    pub kept_times: usize,
}

/// The sending side of the driver.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendParams {
    /// Location of the ring.
    pub ring: SendRing,
    /// Descriptors of the ring: 128, 256 or 512.
    pub entries: u32,
    /// Size of the first of a frame's two descriptors, for its headers; a shorter frame has one descriptor.
    pub header_bytes: u32,
    /// Number of frames announced together, if available.
    pub batch_frames: u32,
    /// Maximum number of frames that wait for the card.
    pub frames_ahead: u32,
}

/// Location of the send ring.
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
    /// Posted buffers of 1518 bytes, 1 to 511.
    pub standard_buffers: u32,
    /// Posted buffers for short frames, 0 to 1023; 0 disables their ring.
    pub mini_buffers: u32,
    /// Posted buffers for frames up to the MTU, 0 to 255; 0 disables their ring.
    pub jumbo_buffers: u32,
    /// Number of buffers reposted together.
    pub batch_buffers: u32,
    /// Entries of the return ring: 1024 or 2048.
    pub return_entries: u32,
    /// True if the host reports its position in the return ring (host offset 0x680).
    pub tells_consumer: bool,
}

/// Times and limits after which the card notifies the host, as in the communication words.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coalescing {
    /// Receive coalescing time in microseconds.
    pub receive_us: u32,
    /// Send coalescing time in microseconds.
    pub send_us: u32,
    /// Interval of statistics updates in microseconds; 0 for none.
    pub statistics_us: u32,
    /// Received descriptors after which the host is notified.
    pub receive_descriptors: u32,
    /// Sent descriptors after which the host is notified.
    pub send_descriptors: u32,
}

/// How the host is notified of the card's writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Interrupts {
    /// By interrupts, which it acknowledges by writing 0 to mailbox 0 before it checks the rings (Linux).
    Acknowledge,
    /// By interrupts, which it masks by writing 1 to mailbox 0 while it checks the rings (BSD).
    Mask,
    /// By polling with masked interrupts.
    Poll {
        /// Polling interval in nanoseconds.
        every_ns: u64,
    },
}

impl Tigon2HostParams {
    /// The configured MAC address; `None` for the EEPROM's.
    pub(super) fn mac(&self) -> Option<Mac> {
        self.mac.parse().ok()
    }

    /// The valid group addresses.
    pub(super) fn groups(&self) -> impl Iterator<Item = Mac> {
        self.groups.iter().filter_map(|group| group.parse().ok())
    }

    /// Longest frame in bytes without check sequence, from the parameters of a card file.
    pub fn longest_of(parameters: &BTreeMap<String, toml::Value>) -> Option<usize> {
        let mtu = usize::try_from(parameters.get("mtu")?.as_integer()?).ok()?;
        mtu.checked_sub(Frame::FCS_BYTES as usize)
    }

    /// Checks the traffic of a run: frames too short to be sent, or too long for the MTU.
    pub fn check_traffic(&self, offered: &Offered) -> Result<(), TrafficError> {
        let most = self.mtu as usize - Frame::FCS_BYTES as usize;
        offered.host.check(MIN_PACKET_LEN, most)?;
        offered.network.check(1, most)
    }

    /// Checks the values. The error gives the found and the allowed value.
    pub(super) fn validate(&self) -> Result<(), String> {
        if self.mac().is_none() && self.mac != "eeprom" {
            return Err(format!(
                "mac is `{}`, must be an address, for example 02:00:00:00:00:01, or `eeprom`",
                self.mac
            ));
        }
        let is_group = |text: &String| text.parse().is_ok_and(|mac: Mac| mac.0[0] & 1 == 1);
        if let Some(wrong) = self.groups.iter().find(|text| !is_group(text)) {
            return Err(format!("groups has `{wrong}`, must be group addresses, for example 01:00:5e:00:00:fb"));
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
