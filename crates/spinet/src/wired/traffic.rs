//! Traffic for a card with firmware: numbered datagrams, which can be checked, other generated traffic, and captures.

use crate::experiment::{self, Problem, SourceSpec, Span, gives};
use crate::room::{self, NoRoom};
use crate::streams::{FeedError, FeedReport, Stream};
use blocks::feeders::{Acknowledgements, Datagrams, FrameTraffic, Frames, ListedFrame, Pace, Station, TrafficError};
use kernel::Time;
use std::net::Ipv4Addr;
use std::path::Path;
use wire::eth::{LINE_LEN, MIN_PACKET_LEN, Mac};
use wire::faults::Faults;
use wire::pacing::{NotAPacing, Pacing};
use wire::source::{Snapped, SourceError};
use wire::traffic::{Rate, TrafficSpec, TrafficTextError};
use wire::units::show_bps;

/// Frames that one direction of a run may hold in memory; [`Frames::Datagrams`] have no bound.
pub const MOST_FRAMES: u64 = 1_000_000;
/// The memory for frames is checked each time they have grown by this number of bytes.
const CHECKED_BYTES: u64 = 16 << 20;
/// Memory of a frame besides its bytes: its place in the list, its time, its number, its allocation.
const FRAME_BYTES: u64 = 72;
/// Bytes of Ethernet, IPv4 and UDP headers before a datagram's content.
const HEADER_BYTES: u32 = 14 + 20 + 8;
const FS_PER_S: u64 = 1_000_000_000_000_000;
/// Highest rate of numbered datagrams, in packets a second.
const MOST_PPS: u64 = 1_000_000_000;

/// Invalid traffic.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum CardTrafficError {
    #[error("{place}: `{text}`: {key} is `{found}`, must be {allowed}")]
    Value { place: &'static str, text: String, key: String, found: String, allowed: &'static str },
    #[error("{place}: `{text}`: there is no `{key}`, it may have {known}")]
    Key { place: &'static str, text: String, key: String, known: &'static str },
    #[error("{place}: `{text}`: `{key}` is given twice")]
    Twice { place: &'static str, text: String, key: String },
    #[error("{place}: `{text}`: this is now written `{now}`")]
    OldSpelling { place: &'static str, text: String, now: String },
    #[error(
        "{place}: more than {MOST_FRAMES} frames; take fewer with count, or `udp:payload=numbered`, which can be endless"
    )]
    TooMany { place: &'static str },
    #[error("{place}: {source}")]
    Text { place: &'static str, source: TrafficTextError },
    #[error("{place}: {source}")]
    Given { place: &'static str, source: Box<Problem> },
    #[error("{place}: {source}")]
    Feed { place: &'static str, source: FeedError },
    #[error("{place}: `payload=numbered` and `tcp-ack` must be the only source of their direction")]
    NotAlone { place: &'static str },
    #[error("{place}: {source}")]
    Room { place: &'static str, source: NoRoom },
    #[error("{place}: {source}")]
    Offered { place: &'static str, source: TrafficError },
    #[error(
        "{place}.pacing: pacing is `{pacing}`, but `payload=numbered` has no times without a rate; add one such as `rate=1G`"
    )]
    NoTimes { place: &'static str, pacing: Pacing },
    #[error("faults: with them, `payload=numbered` must have a `count`, 1 to {MOST_FRAMES}")]
    EndlessFaults,
}

/// The direction of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the network to the host.
    Receive,
    /// From the host to the network.
    Send,
}

impl Way {
    fn place(self) -> &'static str {
        match self {
            Way::Receive => "traffic",
            Way::Send => "send",
        }
    }
}

/// The part of an experiment about the frames of one side.
struct Terms {
    pacing: Pacing,
    count: Option<u64>,
    start: Time,
    snapped: Snapped,
    /// Faults of the network on the way to the card.
    faults: Faults,
    seed: u64,
}

/// The traffic of one side, and its report.
#[derive(Clone, Default)]
pub struct SideTraffic {
    /// The traffic for the card.
    pub traffic: FrameTraffic,
    /// Frames of a capture that are longer than the card takes; they are not given to it.
    pub too_long: u64,
    /// Bytes of the longest frame, without check sequence.
    pub longest: usize,
    /// Number of each frame in the capture, if some were left out. Frames of several sources are numbered in order of
    /// time.
    pub numbers: Option<Vec<u64>>,
    /// The report of each source.
    pub reports: Vec<FeedReport>,
}

impl SideTraffic {
    /// The number in the traffic of a frame. `id` is its number among the frames that the card gets.
    pub fn number(&self, id: u64) -> u64 {
        self.numbers.as_ref().map_or(id, |numbers| numbers[id as usize])
    }
}

/// Parses a source: `udp:size=1514,payload=numbered`, `udp:size=64,count=10,rate=1G`, or the path of a capture.
///
/// `card` is the card's own MAC address, and the destination of frames unless the source gives another. `longest` is
/// the longest frame of a capture, in bytes without check sequence, that the card gets.
pub fn parse(
    spec: &SourceSpec,
    way: Way,
    card: Mac,
    longest: Option<usize>,
    (faults, seed): (Faults, u64),
    base_dir: &Path,
) -> Result<SideTraffic, CardTrafficError> {
    let (place, text) = (way.place(), &*spec.source);
    let wrong = |problem: NotAPacing| CardTrafficError::Given { place, source: Box::new(problem.into()) };
    let pacing = spec.pacing.parse().map_err(wrong)?;
    let start = spec.start.map_or(Time::ZERO, Span::time);
    let terms = &Terms { pacing, count: spec.count, start, snapped: spec.snapped, faults, seed };
    match text.split_once(':') {
        Some(("datagrams", pairs)) => {
            let now = now_written(&pairs_of(place, text, pairs)?);
            return Err(CardTrafficError::OldSpelling { place, text: text.to_owned(), now });
        }
        Some(("udp", pairs)) if is_numbered(pairs) => {
            return numbered(text, &pairs_of(place, text, pairs)?, way, card, longest, terms);
        }
        _ => {}
    }
    let known: &[&str] = if way == Way::Send { &["udp", "tcp", "tcp-ack"] } else { &["udp", "tcp"] };
    if let Some(source) = TrafficSpec::unknown(text, known)
        && !base_dir.join(text).exists()
    {
        return Err(CardTrafficError::Text { place, source });
    }
    let read = experiment::Traffic::read(&mut text.to_owned(), terms.snapped, terms.seed, base_dir);
    let mut packets = read.map_err(|source| CardTrafficError::Given { place, source: Box::new(source) })?;
    if let experiment::Traffic::Generator(spec) = &mut packets
        && way == Way::Receive
        && !gives(text, "dst_mac")
    {
        spec.dst_mac = card; // A card receives frames for its own address.
    }
    list(&packets, way, longest, terms)
}

/// Parses the answers of a host to frames that it receives: `tcp-ack`, `tcp-ack:every=2`.
pub fn replies(text: &str, card: Mac) -> Result<Option<Acknowledgements>, CardTrafficError> {
    let (kind, pairs) = text.split_once(':').unwrap_or((text, ""));
    if kind != "tcp-ack" {
        return Ok(None);
    }
    let (place, mut every) = (Way::Send.place(), 2);
    for [key, value] in pairs_of(place, text, pairs)? {
        let (text, key, found) = (text.to_owned(), key.to_owned(), value.to_owned());
        if key != "every" {
            return Err(CardTrafficError::Key { place, text, key, known: "every" });
        }
        let allowed = "a number of frames that one acknowledgement is for, 1 to 1000";
        let number = found.parse().ok().filter(|number| (1..=1000).contains(number));
        every = number.ok_or(CardTrafficError::Value { place, text, key, found, allowed })?;
    }
    let [from, to] = stations(card);
    Ok(Some(Acknowledgements { every, from, to }))
}

/// The keys and values after the colon of a text. Repeated keys are an error.
fn pairs_of<'a>(place: &'static str, text: &str, pairs: &'a str) -> Result<Vec<[&'a str; 2]>, CardTrafficError> {
    let mut found: Vec<[&str; 2]> = Vec::new();
    for pair in pairs.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (key.trim(), value.trim());
        if found.iter().any(|[other, _]| *other == key) {
            return Err(CardTrafficError::Twice { place, text: text.to_owned(), key: key.to_owned() });
        }
        found.push([key, value]);
    }
    Ok(found)
}

/// The host with its card, and its peer.
fn stations(card: Mac) -> [Station; 2] {
    let own = Station { mac: card, ip: Ipv4Addr::new(10, 0, 0, 2), port: 9_999 };
    let other = Station { mac: Mac([2, 0, 0, 0, 0, 1]), ip: Ipv4Addr::new(10, 0, 0, 1), port: 10_000 };
    [own, other]
}

/// Frames with their times.
fn list(
    packets: &experiment::Traffic,
    way: Way,
    longest: Option<usize>,
    terms: &Terms,
) -> Result<SideTraffic, CardTrafficError> {
    let place = way.place();
    let fail = |source| CardTrafficError::Feed { place, source };
    let faults = if way == Way::Receive { terms.faults } else { Faults::default() };
    let count = terms.count.unwrap_or(u64::MAX);
    let stream = Stream::open(packets, terms.pacing, count, (faults, terms.seed), None).map_err(fail)?;
    // Frames that are too long are an error in a description, but not in a capture, because the user may not have
    // created it.
    let longest = longest.filter(|_| matches!(packets, experiment::Traffic::Capture(..)));
    listed(stream, place, longest, terms.start)
}

/// The frames of a stream, with their times from `start` on.
fn listed(
    mut stream: Stream,
    place: &'static str,
    longest: Option<usize>,
    start: Time,
) -> Result<SideTraffic, CardTrafficError> {
    let fail = |source: SourceError| CardTrafficError::Feed { place, source: source.into() };
    let (mut frames, mut times, mut numbers, mut side) = (Vec::new(), Vec::new(), Vec::new(), SideTraffic::default());
    let (mut kept_bytes, mut checked_bytes) = (0, CHECKED_BYTES);
    while let Some(frame) = stream.read().map_err(fail)? {
        if frames.len() as u64 == MOST_FRAMES {
            return Err(CardTrafficError::TooMany { place });
        }
        if kept_bytes >= checked_bytes {
            checked_bytes += CHECKED_BYTES;
            let what = format!("more than {} frames", frames.len());
            room::check(&what, CHECKED_BYTES).map_err(|source| CardTrafficError::Room { place, source })?;
        }
        // Frames on the line have at least Ethernet's minimum length; captures contain shorter ones, from before padding.
        let mut bytes = frame.bytes.into_vec();
        bytes.resize(bytes.len().max(MIN_PACKET_LEN), 0);
        if longest.is_some_and(|longest| bytes.len() > longest) {
            side.too_long += 1;
            side.longest = side.longest.max(bytes.len());
            continue;
        }
        kept_bytes += bytes.len() as u64 + FRAME_BYTES;
        numbers.push(frames.len() as u64 + side.too_long);
        frames.push(ListedFrame { bytes: bytes.into(), is_intact: true });
        times.push(start + Time::from_fs(frame.arrival_fs));
    }
    side.reports = vec![stream.report()];
    side.traffic =
        FrameTraffic { frames: Frames::List(frames.into()), pace: Pace::At(times.into()), start: Time::ZERO };
    side.numbers = (side.too_long > 0).then_some(numbers);
    Ok(side)
}

/// Frames of several sources in the order of their times; of equal times, in the order of the sources.
pub fn merged(way: Way, mut sides: Vec<SideTraffic>) -> Result<SideTraffic, CardTrafficError> {
    let place = way.place();
    if sides.len() < 2 {
        return Ok(sides.pop().unwrap_or_default());
    }
    let (mut all, mut frames) = (SideTraffic::default(), Vec::new());
    for side in sides {
        let (Frames::List(list), Pace::At(times)) = (&side.traffic.frames, &side.traffic.pace) else {
            return Err(CardTrafficError::NotAlone { place });
        };
        frames.extend(times.iter().copied().zip(list.iter().cloned()));
        all.too_long += side.too_long;
        all.longest = all.longest.max(side.longest);
        all.reports.extend(side.reports);
    }
    if frames.len() as u64 > MOST_FRAMES {
        return Err(CardTrafficError::TooMany { place });
    }
    frames.sort_by_key(|&(at, _)| at);
    let (times, frames): (Vec<Time>, Vec<ListedFrame>) = frames.into_iter().unzip();
    all.traffic = FrameTraffic { frames: Frames::List(frames.into()), pace: Pace::At(times.into()), start: Time::ZERO };
    Ok(all)
}

/// Returns true if the pairs of a definition ask for numbered datagrams.
fn is_numbered(pairs: &str) -> bool {
    pairs.split(',').any(|pair| {
        pair.split_once('=').is_some_and(|(key, value)| key.trim() == "payload" && value.trim() == "numbered")
    })
}

/// Converts the older form `datagrams:` with these pairs to the current one. Its `bytes` did not include the headers.
fn now_written(pairs: &[[&str; 2]]) -> String {
    let size =
        |content: &str| content.parse::<u32>().map_or(content.to_owned(), |bytes| (bytes + HEADER_BYTES).to_string());
    let mut now = "udp:payload=numbered".to_owned();
    for [key, value] in pairs {
        now += &match *key {
            "bytes" => {
                let sizes: Vec<String> = value.split(':').map(size).collect();
                format!(",size={}{}", if sizes.len() > 1 { "list:" } else { "" }, sizes.join(":"))
            }
            _ => format!(",{key}={value}"),
        };
    }
    now
}

/// `udp:` with `payload=numbered`: datagrams that are checked by their number. They can be endless.
fn numbered(
    text: &str,
    pairs: &[[&str; 2]],
    way: Way,
    card: Mac,
    longest: Option<usize>,
    terms: &Terms,
) -> Result<SideTraffic, CardTrafficError> {
    let place = way.place();
    let (mut datagram_bytes, mut count, mut rate) = (vec![1472], None, None);
    for &[key, value] in pairs {
        let wrong = |allowed| CardTrafficError::Value {
            place,
            text: text.to_owned(),
            key: key.to_owned(),
            found: value.to_owned(),
            allowed,
        };
        match key {
            "payload" => {}
            "size" => {
                let each = value.strip_prefix("list:").unwrap_or(value);
                let content = |size: &str| size.trim().parse::<u32>().ok()?.checked_sub(HEADER_BYTES);
                let read: Option<Vec<u32>> = each.split(':').map(content).collect();
                datagram_bytes = read
                    .filter(|sizes| sizes.len() == 1 || each != value)
                    .ok_or_else(|| wrong("bytes of a packet such as `1514`, or of several in turn, `list:60:1514`"))?;
            }
            "count" if value == "endless" => {}
            "count" => {
                let number = wire::units::scaled(value);
                count = Some(number.ok_or_else(|| wrong("a number such as 1000 or 10M, or `endless`"))?);
            }
            "rate" if value == "max" => {}
            "rate" => {
                let read = value.parse().ok().filter(|rate| *rate != Rate::Pps(0) && *rate != Rate::Bps(0));
                rate = Some(read.ok_or_else(|| wrong("a rate such as `400M` or `100kpps`, or `max`"))?);
            }
            _ => {
                let known = "size, count, rate, payload with `payload=numbered`";
                let (text, key) = (text.to_owned(), key.to_owned());
                return Err(CardTrafficError::Key { place, text, key, known });
            }
        }
    }
    let (rate, factor) = match terms.pacing {
        Pacing::Asap => (None, (1, 1)),
        Pacing::Line { bps } => (Some(Rate::Bps(bps)), (1, 1)),
        Pacing::TIMES => (rate, (1, 1)),
        pacing @ Pacing::Times { .. } if rate.is_none() => return Err(CardTrafficError::NoTimes { place, pacing }),
        Pacing::Times { numerator, denominator } => (rate, (numerator, denominator)),
    };
    let period = match rate {
        None => None,
        Some(Rate::Pps(pps)) => Some(u128::from(FS_PER_S / pps.min(MOST_PPS))),
        Some(Rate::Bps(bps)) => {
            let &[bytes] = datagram_bytes.as_slice() else {
                let (text, key, found) = (text.to_owned(), "rate".to_owned(), show_bps(bps));
                let allowed = "packets a second, such as `100kpps`, if there are several sizes";
                return Err(CardTrafficError::Value { place, text, key, found, allowed });
            };
            let bits = (u128::from(bytes + HEADER_BYTES) + u128::from(LINE_LEN)) * 8;
            Some(bits * u128::from(FS_PER_S) / u128::from(bps))
        }
    };
    let scaled = |fs: u128| {
        let fs = fs.saturating_mul(factor.0.into()) / u128::from(factor.1);
        Time::from_fs(u64::try_from(fs).unwrap_or(u64::MAX).max(FS_PER_S / MOST_PPS))
    };
    let pace = period.map_or(Pace::Saturating, |fs| Pace::Every(scaled(fs)));
    let [own, other] = stations(card);
    let (from, to) = if way == Way::Receive { (other, own) } else { (own, other) };
    let count = [count, terms.count].into_iter().flatten().min();
    let datagrams = Datagrams { count, datagram_bytes, from, to };
    if way == Way::Receive && terms.faults != Faults::NONE {
        return faulty(datagrams, pace, longest, terms);
    }
    let traffic = FrameTraffic { frames: Frames::Datagrams(datagrams), pace, start: terms.start };
    Ok(SideTraffic { traffic, ..SideTraffic::default() })
}

/// The datagrams that a network with faults lets arrive.
fn faulty(
    datagrams: Datagrams,
    pace: Pace,
    longest: Option<usize>,
    terms: &Terms,
) -> Result<SideTraffic, CardTrafficError> {
    let place = Way::Receive.place();
    let n = datagrams.count.filter(|n| (1..=MOST_FRAMES).contains(n));
    let n = n.ok_or(CardTrafficError::EndlessFaults)?;
    let traffic = FrameTraffic { frames: Frames::Datagrams(datagrams), pace, start: Time::ZERO };
    let most = longest.unwrap_or(usize::from(u16::MAX));
    traffic.check(MIN_PACKET_LEN, most).map_err(|source| CardTrafficError::Offered { place, source })?;
    let packet = |id| Some((traffic.due(id)?, traffic.frames.frame(id)?.bytes.as_ref().into()));
    listed(Stream::made((0..n).map_while(packet).collect(), (terms.faults, terms.seed), 0), place, None, terms.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::FromText;

    fn frames(text: &str, seed: u64) -> Vec<Vec<u8>> {
        let card = Mac([2, 0, 0, 0, 0, 9]);
        let spec = SourceSpec::from_text(text).expect("any text is a source");
        let side =
            parse(&spec, Way::Receive, card, None, (Faults::default(), seed), Path::new(".")).expect("a definition");
        let Frames::List(list) = side.traffic.frames else { panic!("generated frames are a list") };
        list.iter().map(|given| given.bytes.to_vec()).collect()
    }

    #[test]
    fn what_a_definition_does_not_give_the_run_decides() {
        let text = "udp:size=200,count=2,payload=random";
        assert_ne!(frames(text, 1), frames(text, 2));
        assert_eq!(frames(&format!("{text},seed=1"), 2), frames(text, 1));
        assert_eq!(frames(text, 1)[0][..6], [2, 0, 0, 0, 0, 9]);
        assert_eq!(frames(&format!("{text},dst_mac=02:00:00:00:00:07"), 1)[0][..6], [2, 0, 0, 0, 0, 7]);
        // Keys count only at their place.
        let file = std::env::temp_dir().join(format!("spinet-seed=7-{}", std::process::id()));
        std::fs::write(&file, "bytes").expect("a file for the test");
        let named = format!("udp:size=64..900,count=8,payload=file:{}", file.display());
        let found = (frames(&named, 1), frames(&named, 2));
        std::fs::remove_file(&file).expect("it was written");
        assert_ne!(found.0, found.1);
    }

    #[test]
    fn numbered_datagrams_are_endless_and_unpaced_unless_the_definition_says_otherwise() {
        let read = |text: &str| {
            let spec = SourceSpec::from_text(text).expect("any text is a source");
            let (card, here) = (Mac([2, 0, 0, 0, 0, 9]), Path::new("."));
            let side = parse(&spec, Way::Send, card, None, (Faults::default(), 1), here).expect("a definition");
            let Frames::Datagrams(datagrams) = side.traffic.frames else { panic!("numbered datagrams are not a list") };
            let period = match side.traffic.pace {
                Pace::Every(period) => Some(period.fs()),
                _ => None,
            };
            (datagrams.datagram_bytes, datagrams.count, period)
        };
        assert_eq!(read("udp:payload=numbered"), (vec![1472], None, None));
        assert_eq!(read("udp:size=1514,payload=numbered,count=endless,rate=max"), (vec![1472], None, None));
        // 60 bytes take 84 on the line, with check sequence, preamble and gap.
        let microsecond = Some(1_000_000_000);
        assert_eq!(read("udp:size=60,payload=numbered,count=2k,rate=672M"), (vec![18], Some(2000), microsecond));
        assert_eq!(read("udp:size=list:60:64,payload=numbered,rate=1Mpps"), (vec![18, 22], None, microsecond));
    }
}
