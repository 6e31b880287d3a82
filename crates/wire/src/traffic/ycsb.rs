//! The core workloads of YCSB, the Yahoo Cloud Serving Benchmark, as requests in packets.
//!
//! Source: Cooper et al., SoCC 2010, and the workload files of brianfrankcooper/YCSB.

use super::read::{TrafficProblem, refused};
use super::zipf::{MAX_RANKS, Zipf};
use crate::random::Random;
use std::fmt;
use std::str::FromStr;

/// A workload: `a`, or `a:0.99`, or `a:0.99:1000`.
///
/// | mix | read | update | insert | scan | read-modify-write | keys |
/// |---|---|---|---|---|---|---|
/// | `a` | 50 % | 50 % | | | | zipfian |
/// | `b` | 95 % | 5 % | | | | zipfian |
/// | `c` | 100 % | | | | | zipfian |
/// | `d` | 95 % | | 5 % | | | latest |
/// | `e` | | | 5 % | 95 %, up to 100 records | | zipfian |
/// | `f` | 50 % | | | | 50 % | zipfian |
///
/// Keys are numbers from 0 to the number of records; inserts add keys. `zipfian` draws a rank and hashes it (FNV-1a, 64
/// bits), so that frequent keys are scattered; `latest` counts the rank back from the newest record. A read-modify-write
/// is two requests: a read, then an update of the same key.
///
/// Differs: ranks are drawn from the initial number of records. YCSB always draws from 10^10, which makes its most
/// frequent keys less frequent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ycsb {
    /// Mix of operations.
    pub mix: Mix,
    /// Exponent of the rank distribution, in thousandths.
    pub theta_milli: u32,
    /// Number of records before the first request.
    pub records: u32,
}

/// The six mixes of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table of `Ycsb` says what each is")]
pub enum Mix {
    A,
    B,
    C,
    D,
    E,
    F,
}

/// Operation of a request. The value is its code in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads the value of a key.
    Read = 0,
    /// Writes a new value of a key; the request carries it.
    Update = 1,
    /// Writes a new key; the request carries its value.
    Insert = 2,
    /// Reads the values of consecutive keys, starting at the given one. The value field holds their number.
    Scan = 3,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub operation: Operation,
    pub key: u32,
    /// For updates and inserts a unique number; for scans the number of records.
    pub value: u32,
}

const NAMES: [(&str, Mix); 6] =
    [("a", Mix::A), ("b", Mix::B), ("c", Mix::C), ("d", Mix::D), ("e", Mix::E), ("f", Mix::F)];

/// Exponent (in thousandths) and number of records in the workload files.
const THETA_MILLI: u32 = 990;
const RECORDS: u32 = 1000;
/// Largest exponent, in thousandths. assumed: published loads stay below 2.
const MAX_THETA_MILLI: u32 = 10_000;
/// Longest scan, in records, as in the workload file of mix E.
const MAX_SCAN: u64 = 100;

impl Ycsb {
    pub(super) fn validate(&self) -> Result<(), TrafficProblem> {
        let refuse = |found: String, allowed: String| Err(TrafficProblem::Value { key: "payload", found, allowed });
        if self.theta_milli > MAX_THETA_MILLI {
            return refuse(format!("ycsb with theta {}", Milli(self.theta_milli)), "with theta from 0 to 10".into());
        }
        if self.records == 0 || self.records > MAX_RANKS {
            let allowed = format!("of 1 to {MAX_RANKS} records");
            return refuse(format!("ycsb of {} records", self.records), allowed);
        }
        Ok(())
    }
}

/// Generates the requests of a workload.
pub(super) struct Requests {
    mix: Mix,
    ranks: Zipf,
    /// Number of keys that rank hashes map to, including keys to be inserted.
    keys: u64,
    /// Current number of records.
    records: u64,
    /// Key of the pending update in a read-modify-write.
    update: Option<u32>,
    /// Number of requests so far.
    n: u32,
    random: Random,
}

impl Requests {
    /// Generates about `count` requests of a valid workload.
    pub fn new(ycsb: &Ycsb, count: u64, random: Random) -> Self {
        let records = u64::from(ycsb.records);
        // YCSB reserves keys for twice the expected number of inserts.
        let new_keys = if ycsb.mix == Mix::E { count / 20 * 2 } else { 0 };
        Requests {
            mix: ycsb.mix,
            ranks: Zipf::new(ycsb.records, ycsb.theta_milli),
            keys: records + new_keys,
            records,
            update: None,
            n: 0,
            random,
        }
    }

    /// The next request. Keys and values are 32 bits wide and wrap.
    pub fn next(&mut self) -> Request {
        self.n = self.n.wrapping_add(1);
        if let Some(key) = self.update.take() {
            return self.write(Operation::Update, key);
        }
        let percent = self.random.below(100);
        match self.mix {
            Mix::A if percent < 50 => self.write_existing(),
            Mix::B if percent < 5 => self.write_existing(),
            Mix::D | Mix::E if percent < 5 => {
                self.records += 1;
                self.write(Operation::Insert, (self.records - 1) as u32)
            }
            Mix::D => Request { operation: Operation::Read, key: self.latest(), value: 0 },
            Mix::E => {
                let value = 1 + self.random.below(MAX_SCAN) as u32;
                Request { operation: Operation::Scan, key: self.zipfian(), value }
            }
            Mix::A | Mix::B | Mix::C | Mix::F => {
                let key = self.zipfian();
                self.update = (self.mix == Mix::F && percent < 50).then_some(key);
                Request { operation: Operation::Read, key, value: 0 }
            }
        }
    }

    fn write_existing(&mut self) -> Request {
        let key = self.zipfian();
        self.write(Operation::Update, key)
    }

    fn write(&self, operation: Operation, key: u32) -> Request {
        Request { operation, key, value: self.n }
    }

    /// The key of an existing record, by the hash of its rank. If the record of that key is not inserted yet, tries
    /// another hash.
    fn zipfian(&mut self) -> u32 {
        /// Number of hashes tried. It is too low only if inserts outnumber the records by far.
        const TRIES: u64 = 64;
        let rank = u64::from(self.ranks.draw(&mut self.random));
        let mut hashes = (0..TRIES).map(|turn| hash(turn << 32 | rank) % self.keys);
        hashes.find(|&key| key < self.records).unwrap_or(rank % self.records) as u32
    }

    /// A key by its distance from the newest.
    fn latest(&mut self) -> u32 {
        (self.records - 1 - u64::from(self.ranks.draw(&mut self.random))) as u32
    }
}

/// FNV-1a over the 8 bytes of a number, lowest first, with the sign removed as in YCSB. Source: Fowler, Noll and Vo;
/// brianfrankcooper/YCSB, Utils.java.
fn hash(number: u64) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    number.to_le_bytes().into_iter().fold(0xcbf2_9ce4_8422_2325, step).cast_signed().unsigned_abs()
}

/// Displays thousandths as a decimal number.
struct Milli(u32);

impl fmt::Display for Milli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:03}", self.0 / 1000, self.0 % 1000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Parses a decimal number such as `0.99` as thousandths.
fn milli(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 3 {
        return None;
    }
    whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(format!("{part:0<3}").parse().ok()?)
}

impl FromStr for Ycsb {
    type Err = TrafficProblem;

    fn from_str(text: &str) -> Result<Self, TrafficProblem> {
        let refuse =
            || refused("payload", &format!("ycsb:{text}"), "`ycsb:MIX:THETA:RECORDS` such as `ycsb:a:0.99:1000`");
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let &(_, mix) = NAMES.iter().find(|(known, _)| *known == name).ok_or_else(refuse)?;
        let theta_milli = parts.next().map_or(Some(THETA_MILLI), milli).ok_or_else(refuse)?;
        let records = parts.next().map_or(Ok(RECORDS), str::parse).map_err(|_| refuse())?;
        if parts.next().is_some() {
            return Err(refuse());
        }
        Ok(Ycsb { mix, theta_milli, records })
    }
}

impl fmt::Display for Ycsb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, mix)| *mix == self.mix).map_or("", |(name, _)| name);
        write!(f, "{name}:{}:{}", Milli(self.theta_milli), self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::collections::BTreeMap;

    fn requests(text: &str, count: u64) -> Vec<Request> {
        let ycsb: Ycsb = text.parse().unwrap_or_else(|e| panic!("{e}"));
        let mut requests = Requests::new(&ycsb, count, Random::new(1, 2));
        (0..count).map(|_| requests.next()).collect()
    }

    #[test]
    fn the_first_requests_of_each_mix() {
        let check = |text: &str, want: Expect| {
            let show = |r: &Request| format!("{:?} {} {}", r.operation, r.key, r.value);
            want.assert_eq(&requests(text, 6).iter().map(show).collect::<Vec<_>>().join(", "));
        };
        check("a", expect!["Update 393 1, Update 620 2, Read 393 0, Update 663 4, Read 964 0, Update 211 6"]);
        check("b:0.99:100", expect!["Read 20 0, Read 11 0, Read 20 0, Read 69 0, Read 2 0, Read 11 0"]);
        check("c:1.1:1000", expect!["Read 620 0, Read 211 0, Read 620 0, Read 779 0, Read 769 0, Read 211 0"]);
        check("d", expect!["Read 997 0, Read 998 0, Read 997 0, Read 18 0, Read 990 0, Read 999 0"]);
        check("e", expect!["Scan 620 24, Scan 393 91, Scan 276 100, Scan 211 13, Scan 334 99, Scan 87 14"]);
        check("f", expect!["Read 393 0, Update 393 2, Read 620 0, Update 620 4, Read 393 0, Read 663 0"]);
    }

    #[test]
    fn operations_have_the_shares_of_their_mix() {
        let check = |text: &str, want: Expect| {
            let mut shares = BTreeMap::new();
            for request in requests(text, 100_000) {
                *shares.entry(request.operation as u32).or_insert(0) += 1;
            }
            want.assert_eq(&format!("{shares:?}"));
        };
        check("a", expect!["{0: 50113, 1: 49887}"]);
        check("b", expect!["{0: 95039, 1: 4961}"]);
        check("c", expect!["{0: 100000}"]);
        check("d", expect!["{0: 95045, 2: 4955}"]);
        check("e", expect!["{2: 4994, 3: 95006}"]);
        check("f", expect!["{0: 66794, 1: 33206}"]); // Half of the operations are read-modify-writes, which are two requests.
    }

    #[test]
    fn keys_belong_to_existing_records() {
        for mix in ["a:0.99:50", "d:0.99:50", "e:0.99:1", "f:1.5:50"] {
            let mut records = if mix.ends_with(":1") { 1 } else { 50 };
            for request in requests(mix, 5000) {
                if request.operation == Operation::Insert {
                    assert_eq!(request.key, records, "{mix}: inserts continue after the last record");
                    records += 1;
                }
                assert!(request.key < records, "{mix}: {request:?}, {records} records");
                assert!(request.operation != Operation::Scan || (1..=100).contains(&request.value));
            }
        }
    }

    #[test]
    fn zipfian_keys_are_scattered_and_latest_reads_new_keys() {
        let top = |text: &str| {
            let mut hits = BTreeMap::new();
            for request in requests(text, 20_000) {
                *hits.entry(request.key).or_insert(0) += 1;
            }
            let mut hits: Vec<(u32, u32)> = hits.into_iter().map(|(key, n)| (n, key)).collect();
            hits.sort_unstable_by(|a, b| b.cmp(a));
            format!("{:?}", &hits[..4])
        };
        expect!["[(3624, 211), (1727, 620), (1095, 393), (791, 802)]"].assert_eq(&top("c:1.1:1000"));
        let reads = requests("d", 20_000).into_iter().filter(|r| r.operation == Operation::Read);
        let newest = reads.filter(|read| read.key >= 900).count();
        assert!(newest > 19_000 * 7 / 10, "{newest} of about 19000 reads are of new records");
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // Each of the eight zero bytes multiplies the basis by the prime.
        let want = (0..8).fold(0xcbf2_9ce4_8422_2325u64, |hash, _| hash.wrapping_mul(0x0100_0000_01b3));
        assert_eq!(hash(0), want.cast_signed().unsigned_abs());
    }

    #[test]
    fn text_both_ways_and_refusals() {
        for (text, shown) in [("a", "a:0.99:1000"), ("f:1:7", "f:1:7"), ("e:0.5:1048576", "e:0.5:1048576")] {
            let ycsb: Ycsb = text.parse().unwrap();
            assert_eq!((ycsb.to_string(), ycsb.validate()), (shown.into(), Ok(())));
        }
        for text in ["", "g", "A", "a:", "a:.5", "a:1.", "a:1.0001", "a:-1", "a:1:", "a:1:1:1", "a:99999999:1"] {
            assert!(text.parse::<Ycsb>().is_err(), "{text}");
        }
        let refused = |text: &str| text.parse::<Ycsb>().unwrap().validate().unwrap_err().to_string();
        expect!["payload is ycsb with theta 10.5, must be with theta from 0 to 10"].assert_eq(&refused("a:10.5"));
        expect!["payload is ycsb of 0 records, must be of 1 to 1048576 records"].assert_eq(&refused("a:1:0"));
    }
}
