//! Traffic for a card with firmware: datagrams that can be checked by their number, generated traffic, captures.

use crate::experiment::gives;
use blocks::feeders::{Acknowledgements, Datagrams, Frames, Given, Pace, Station, Traffic};
use kernel::Time;
use std::net::Ipv4Addr;
use std::path::Path;
use wire::capture::CaptureReader;
use wire::eth::{MIN_PACKET_LEN, Mac};
use wire::pacing::Pacing;
use wire::source::{CaptureSource, Snapped, Source, SourceError};
use wire::traffic::{Generator, TrafficError, TrafficSpec, TrafficTextError};

/// Frames that one direction of a run may hold in memory; [`Frames::Datagrams`] have no bound.
pub const MOST_FRAMES: u64 = 1_000_000;

/// Traffic that cannot be.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum CardTrafficError {
    #[error("{place}: `{text}`: {key} is `{found}`, must be {allowed}")]
    Value { place: &'static str, text: String, key: String, found: String, allowed: &'static str },
    #[error("{place}: `{text}`: there is no `{key}`, it may have {known}")]
    Key { place: &'static str, text: String, key: String, known: &'static str },
    #[error("{place}: `{text}`: `{key}` is given twice")]
    Twice { place: &'static str, text: String, key: String },
    #[error("{place}: more than {MOST_FRAMES} frames; take fewer with count, or endless `datagrams:`")]
    TooMany { place: &'static str },
    #[error("{place}: {source}")]
    Text { place: &'static str, source: TrafficTextError },
    #[error("{place}: {source}")]
    Generator { place: &'static str, source: TrafficError },
    #[error("{place}: {source}")]
    Source { place: &'static str, source: SourceError },
}

/// Which way frames go.
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

/// What `text` means: `datagrams:bytes=1472,count=1000`, `udp:size=64,count=10,rate=1G`, or the path of a capture.
///
/// `card` is the card's own MAC address: what it receives is for that, unless the text gives another. `seed` decides what is
/// random in a definition that gives none.
pub fn parse(text: &str, way: Way, card: Mac, seed: u64, base_dir: &Path) -> Result<Traffic, CardTrafficError> {
    let place = way.place();
    match text.split_once(':').map_or((text, ""), |(kind, rest)| (kind, rest)) {
        ("datagrams", rest) => datagrams(text, rest, way, card),
        _ if TrafficSpec::is_meant_by(text) => {
            let mut spec = TrafficSpec::parse(text).map_err(|source| CardTrafficError::Text { place, source })?;
            if way == Way::Receive && !gives(text, "dst_mac") {
                spec.dst_mac = card; // A card takes what is for it.
            }
            if !gives(text, "seed") {
                spec.seed = seed;
            }
            let generator = Generator::new(spec, Pacing::TIMES);
            list(generator.map_err(|source| CardTrafficError::Generator { place, source })?, place)
        }
        _ => {
            let known: &[&str] =
                if way == Way::Send { &["datagrams", "udp", "tcp", "tcp-ack"] } else { &["datagrams", "udp", "tcp"] };
            if let Some(source) = TrafficSpec::unknown(text, known)
                && !base_dir.join(text).exists()
            {
                return Err(CardTrafficError::Text { place, source });
            }
            let capture = CaptureReader::open(base_dir.join(text)).map_err(SourceError::from);
            let reader = capture.map_err(|source| CardTrafficError::Source { place, source })?;
            list(CaptureSource::new(reader, Pacing::TIMES, Snapped::Pad), place)
        }
    }
}

/// What a host answers to what it receives, if `text` says so: `tcp-ack`, `tcp-ack:every=2`.
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

/// The keys and values behind the colon of a text, no key twice.
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

/// The host with its card, and whom it talks to.
fn stations(card: Mac) -> [Station; 2] {
    let own = Station { mac: card, ip: Ipv4Addr::new(10, 0, 0, 2), port: 9_999 };
    let other = Station { mac: Mac([2, 0, 0, 0, 0, 1]), ip: Ipv4Addr::new(10, 0, 0, 1), port: 10_000 };
    [own, other]
}

/// Frames of `source` with their times.
fn list(mut source: impl Source, place: &'static str) -> Result<Traffic, CardTrafficError> {
    let (mut frames, mut times) = (Vec::new(), Vec::new());
    while let Some(frame) = source.next().map_err(|source| CardTrafficError::Source { place, source })? {
        if frames.len() as u64 == MOST_FRAMES {
            return Err(CardTrafficError::TooMany { place });
        }
        // A frame on the line is as long as Ethernet asks; captures hold shorter ones that were never padded.
        let mut bytes = frame.bytes.to_vec();
        bytes.resize(bytes.len().max(MIN_PACKET_LEN), 0);
        frames.push(Given { bytes: bytes.into(), is_intact: true });
        times.push(Time::from_fs(frame.arrival_fs));
    }
    Ok(Traffic { frames: Frames::List(frames.into()), pace: Pace::At(times.into()) })
}

fn datagrams(text: &str, pairs: &str, way: Way, card: Mac) -> Result<Traffic, CardTrafficError> {
    let place = way.place();
    let (mut sizes, mut count, mut pace) = (vec![1472], None, Pace::Saturating);
    for [key, value] in pairs_of(place, text, pairs)? {
        let wrong = |allowed| CardTrafficError::Value {
            place,
            text: text.to_owned(),
            key: key.to_owned(),
            found: value.to_owned(),
            allowed,
        };
        match key {
            "bytes" => {
                let read: Result<Vec<u32>, _> = value.split(':').map(str::parse).collect();
                sizes =
                    read.map_err(|_| wrong("bytes of a datagram's content such as 1472, or several in turn, 18:1472"))?;
            }
            "count" => count = Some(value.parse().map_err(|_| wrong("a number of datagrams"))?),
            "rate" => {
                let pps = value.strip_suffix("pps").and_then(wire::units::scaled);
                let pps = pps.filter(|pps| (1..=1_000_000_000).contains(pps));
                let pps = pps.ok_or_else(|| {
                    wrong("datagrams a second, such as 100kpps, up to 1Gpps; without it, as fast as they are taken")
                })?;
                pace = Pace::Every(Time::from_fs(1_000_000_000_000_000 / pps));
            }
            _ => {
                let (text, key) = (text.to_owned(), key.to_owned());
                return Err(CardTrafficError::Key { place, text, key, known: "bytes, count, rate" });
            }
        }
    }
    let [own, other] = stations(card);
    let (from, to) = if way == Way::Receive { (other, own) } else { (own, other) };
    let traffic = Traffic { frames: Frames::Datagrams(Datagrams { count, datagram_bytes: sizes, from, to }), pace };
    Ok(traffic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(text: &str, seed: u64) -> Vec<Vec<u8>> {
        let card = Mac([2, 0, 0, 0, 0, 9]);
        let traffic = parse(text, Way::Receive, card, seed, Path::new(".")).expect("a definition");
        let Frames::List(list) = traffic.frames else { panic!("generated frames are a list") };
        list.iter().map(|given| given.bytes.to_vec()).collect()
    }

    #[test]
    fn what_a_definition_does_not_give_the_run_decides() {
        let text = "udp:size=200,count=2,payload=random";
        assert_ne!(frames(text, 1), frames(text, 2));
        assert_eq!(frames(&format!("{text},seed=1"), 2), frames(text, 1));
        assert_eq!(frames(text, 1)[0][..6], [2, 0, 0, 0, 0, 9]);
        assert_eq!(frames(&format!("{text},dst_mac=02:00:00:00:00:07"), 1)[0][..6], [2, 0, 0, 0, 0, 7]);
        // Keys are keys only where they stand.
        let file = std::env::temp_dir().join(format!("spinet-seed=7-{}", std::process::id()));
        std::fs::write(&file, "bytes").expect("a file for the test");
        let named = format!("udp:size=64..900,count=8,payload=file:{}", file.display());
        let found = (frames(&named, 1), frames(&named, 2));
        std::fs::remove_file(&file).expect("it was written");
        assert_ne!(found.0, found.1);
    }
}
