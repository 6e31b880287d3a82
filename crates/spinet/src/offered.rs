//! The packets that an experiment offers to its handlers, without a NIC, for reference implementations and for handlers
//! that run elsewhere.

use crate::experiment::Checked;
use crate::handlers::feed::{classifiers, first_context, traffic};
use crate::handlers::message_ids::{Message, MessageIds};
use crate::streams::{Coming, FeedError};
use kernel::Time;
use wire::layers::Layers;

/// A packet of the traffic, with its context and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// When its first bit arrives, in femtoseconds since the start of the traffic.
    pub arrival_fs: u64,
    /// Its context and message; `None` if no context takes it.
    pub target: Option<Target>,
    /// The packet, without FCS.
    pub bytes: Box<[u8]>,
}

/// Where a packet belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Position of the context.
    pub context: usize,
    /// Number of the message in its context, from 0.
    pub message: u64,
    /// Its identity in the NIC, as a run of one tenant gives it; `None` if no queue was free when it began.
    pub msgid: Option<u16>,
    /// No packet of the message follows.
    pub is_last: bool,
}

/// Number of packets between two calls of `continues`. They take milliseconds of host time.
const SLICE: usize = 1 << 16;

/// All packets of the traffic, as a run would take them; `None` if `continues`, which is called from time to time, returns false.
///
/// They are held in memory all at once.
pub fn offered(checked: &Checked, mut continues: impl FnMut() -> bool) -> Result<Option<Vec<Offered>>, FeedError> {
    let mut classifiers = classifiers(checked)?;
    // Reservations of tenants depend on when the card finishes packets, so they are left out.
    let mut ids = MessageIds::new(checked.nic.scheduler.n_mpqs, 0);
    let mut coming = Vec::new();
    for (mut stream, source) in traffic(checked)?.into_iter().zip(&checked.sources) {
        // The times of a source count from its start.
        let start = source.start.filter(|_| checked.sources.len() > 1).map_or(0, Time::fs);
        while let Some(packet) = stream.read()? {
            coming.push(Coming { arrival_fs: packet.arrival_fs.saturating_add(start), ..packet });
            if coming.len().is_multiple_of(SLICE) && !continues() {
                return Ok(None);
            }
        }
    }
    coming.sort_by_key(|packet| packet.arrival_fs);
    let mut all = Vec::new();
    for Coming { arrival_fs, bytes, .. } in coming {
        let layers = Layers::parse(&bytes);
        let target = first_context(&checked.contexts, &bytes, &layers).map(|context| {
            let verdict = classifiers[context].classify(&bytes, &layers);
            let message = Message { tenant: 0, rule: context as u64, number: verdict.message };
            let msgid = ids.of(message, verdict.is_last, &[]);
            Target { context, message: verdict.message, msgid, is_last: verdict.is_last }
        });
        all.push(Offered { arrival_fs, target, bytes });
        if all.len().is_multiple_of(SLICE) && !continues() {
            return Ok(None);
        }
    }
    Ok(Some(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toml_text::Format;
    use expect_test::expect;
    use std::path::Path;

    #[test]
    fn who_does_not_want_all_ends_it() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = "program = 'Cargo.toml'\ntraffic = 'udp:count=1000000000'\n[[context]]\nmatch = 'udp'\n";
        let checked = Checked::read(text, "test", here, Format::Toml).unwrap_or_else(|e| panic!("{e}"));
        let mut calls = 0;
        let came = offered(&checked, || {
            calls += 1;
            calls < 2
        });
        assert_eq!((came.unwrap_or_else(|e| panic!("{e}")), calls), (None, 2));
    }

    #[test]
    fn packets_come_with_their_context_and_message() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = "program = 'Cargo.toml'\ntraffic = 'udp:count=6,flows=2,rate=100G'\n[[context]]\n\
                    match = 'udp.src_port == 10001'\nmessage = 'by flow count 2'\n";
        let checked = Checked::read(text, "test", here, Format::Toml).unwrap_or_else(|e| panic!("{e}"));
        let shown: Vec<String> = offered(&checked, || true)
            .unwrap_or_else(|e| panic!("{e}"))
            .iter()
            .flatten()
            .map(|packet| {
                let target = packet.target.map_or("nobody's".into(), |t| {
                    format!("message {} as {:?}{}", t.message, t.msgid, if t.is_last { ", last" } else { "" })
                });
                format!("{:>2} ns, {} bytes: {target}", packet.arrival_fs / 1_000_000, packet.bytes.len())
            })
            .collect();
        expect![[r#"
             0 ns, 64 bytes: nobody's
             7 ns, 64 bytes: message 0 as Some(0)
            14 ns, 64 bytes: nobody's
            21 ns, 64 bytes: message 0 as Some(0), last
            28 ns, 64 bytes: nobody's
            35 ns, 64 bytes: message 1 as Some(1)"#]]
        .assert_eq(&shown.join("\n"));
    }
}
