//! Counts of packets that pass a place, for summaries.

use kernel::Cycle;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Traffic {
    /// Adds a packet.
    pub fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Adds the packets of another place.
    pub fn join(&mut self, other: Traffic) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

/// Packets that pass a place, with the time of the first and of the last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of the last packet.
    pub last_bytes: u64,
    /// When the first and the last passed.
    pub span: Option<(Cycle, Cycle)>,
}

impl Flow {
    /// Adds a packet.
    pub fn add(&mut self, at: Cycle, bytes: u64) {
        let (first, last) = self.span.unwrap_or((at, at));
        if at >= last {
            self.last_bytes = bytes;
        }
        self.span = Some((first.min(at), last.max(at)));
        self.packets += 1;
        self.bytes += bytes;
    }
}

/// Packets in a span of time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bin {
    /// Packets that came.
    pub came: Traffic,
    /// Packets that the card finished.
    pub done: Traffic,
}

impl Bin {
    fn add(&mut self, other: Bin) {
        self.came.join(other.came);
        self.done.join(other.done);
    }
}

/// Packets that came, and those that the card was done with, over time. The number of bins is bounded: when the time grows, bins become
/// twice as wide. Packets may be added in any order of time.
#[derive(Clone, Debug)]
pub struct Series {
    /// Width of a bin in ticks.
    width: u64,
    /// From tick 0 on.
    bins: Vec<Bin>,
}

/// Maximum number of bins of a [`Series`]. A power of two.
const MOST_BINS: usize = 512;
/// A steady state needs at least this number of bins, and of packets that come in them. assumed: a packet at the edge
/// of the window then counts for one percent at most.
const LEAST_BINS: usize = 16;
const LEAST_PACKETS: u64 = 100;

impl Default for Series {
    fn default() -> Self {
        Series { width: 1, bins: Vec::new() }
    }
}

impl Series {
    /// Adds a packet: the time at which it came, the time at which the card finished it, if it did, and its size.
    pub fn add(&mut self, came: u64, done: Option<u64>, bytes: u64) {
        self.bin(came).came.add(bytes);
        if let Some(done) = done {
            self.done(done, bytes);
        }
    }

    /// The card was done with a packet.
    pub fn done(&mut self, at: u64, bytes: u64) {
        self.bin(at).done.add(bytes);
    }

    fn bin(&mut self, tick: u64) -> &mut Bin {
        while tick / self.width >= MOST_BINS as u64 {
            self.width *= 2;
            for pair in 0..self.bins.len().div_ceil(2) {
                let mut both = self.bins[2 * pair];
                both.add(self.bins.get(2 * pair + 1).copied().unwrap_or_default());
                self.bins[pair] = both;
            }
            self.bins.truncate(self.bins.len().div_ceil(2));
        }
        let position = (tick / self.width) as usize;
        if self.bins.len() <= position {
            self.bins.resize(position + 1, Bin::default());
        }
        &mut self.bins[position]
    }

    /// The window in which packets came, without its first quarter and its last bin, and the packets of that window. So
    /// packets count neither while buffers fill at the start, nor while they empty at the end. `None` if the window is
    /// too short.
    pub fn steady(&self) -> Option<(std::ops::Range<u64>, Bin)> {
        let comes = |bin: &Bin| bin.came.packets > 0;
        let (first, last) = (self.bins.iter().position(comes)?, self.bins.iter().rposition(comes)?);
        let first_done = self.bins.iter().position(|bin| bin.done.packets > 0)?;
        let from = (first + (last - first).div_ceil(4)).max(first_done + 1);
        let bins = self.bins.get(from..last).filter(|bins| bins.len() >= LEAST_BINS)?;
        let mut sum = Bin::default();
        bins.iter().for_each(|&bin| sum.add(bin));
        let span = from as u64 * self.width..last as u64 * self.width;
        (sum.came.packets >= LEAST_PACKETS).then_some((span, sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 100 bytes that come every `gap` ticks. The card is done with one every `service` ticks, the first after 40.
    fn run(count: u64, gap: u64, service: u64) -> Series {
        let mut series = Series::default();
        let mut done = 0;
        for packet in 0..count {
            done = (packet * gap + 40).max(done + service);
            series.add(packet * gap, Some(done), 100);
        }
        series
    }

    #[test]
    fn a_card_that_keeps_up_is_done_with_what_comes() {
        let (window, sum) = run(10_000, 10, 7).steady().expect("it is long");
        // 100,000 ticks of arrivals in bins of 256: from a quarter on, without the last bin.
        assert_eq!(window, 98 * 256..390 * 256);
        let ticks = window.end - window.start;
        assert!(sum.came.packets.abs_diff(ticks / 10) <= 1, "{}", sum.came.packets);
        assert!(sum.done.packets.abs_diff(ticks / 10) <= 1, "{}", sum.done.packets);
    }

    #[test]
    fn what_a_buffer_soaks_up_is_not_done() {
        let series = run(10_000, 10, 25);
        let (window, sum) = series.steady().expect("it is long");
        let ticks = window.end - window.start;
        assert!(window.end <= 100_000, "the buffer drains until 250,000");
        assert!(sum.came.packets.abs_diff(ticks / 10) <= 1, "{}", sum.came.packets);
        assert!(sum.done.packets.abs_diff(ticks / 25) <= 1, "{}", sum.done.packets);
        assert_eq!(sum.done.bytes, 100 * sum.done.packets);
    }

    #[test]
    fn short_runs_have_no_steady_state() {
        assert!(run(60, 10, 7).steady().is_none(), "few packets");
        assert!(Series::default().steady().is_none());
        let mut burst = Series::default();
        (0..1000).for_each(|packet| burst.add(5, Some(100 + 10 * packet), 64));
        assert!(burst.steady().is_none(), "all come at once");
    }

    #[test]
    fn wide_bins_hold_the_packets_of_narrow_ones() {
        let mut series = Series::default();
        for tick in [0, 1, 2, 511, 512, 5000, 3] {
            series.add(tick, None, 1);
        }
        assert_eq!((series.width, series.bins.len()), (16, 313));
        let came: Vec<_> = series.bins.iter().enumerate().filter(|(_, bin)| bin.came.packets > 0).collect();
        let came: Vec<_> = came.iter().map(|(at, bin)| (*at, bin.came.packets)).collect();
        assert_eq!(came, [(0, 4), (31, 1), (32, 1), (312, 1)]);
    }
}
