//! Captures of ends of links.

use crate::rig::{RATE, Script, device, direction, link, packet, plan};
use kernel::Time;
use net::LinkId;
use net::capture::Capture;
use net::network::{Network, Options};
use std::io::Write;
use std::sync::{Arc, Mutex};
use wire::capture::{CaptureLimits, CaptureReader};
use wire::pacing::Pacing;
use wire::source::{CaptureSource, Snapped, Source};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn captured(threads: usize, faults: &str) -> [Vec<u8>; 2] {
    let frames = |from: u32| {
        (0..30).map(move |i| (Time::from_ns(u64::from(i) * 130), packet(from, 1 - from, 100 + i as usize, i)))
    };
    let nodes = (0..2).map(|i| device(&format!("n{i}"), move || Script::sending(frames(i)))).collect();
    let plan = plan(nodes, vec![link("ab", (0, 0), (1, 0), direction(RATE, 500, faults))]);
    let files = [Shared::default(), Shared::default()];
    let captures =
        files.iter().enumerate().map(|(end, file)| Capture { link: LinkId(0), end, stream: Box::new(file.clone()) });
    let options = Options { threads, captures: captures.collect(), ..Options::default() };
    let mut network = Network::build(plan, options).unwrap();
    for slice in 1..=10 {
        network.run_until(Time::from_ns(slice * 1_000)).unwrap();
    }
    network.close().unwrap();
    files.map(|file| std::mem::take(&mut *file.0.lock().unwrap()))
}

/// Times in ns and lengths.
fn read(bytes: &[u8]) -> Vec<(u64, usize)> {
    let reader = CaptureReader::new(bytes, "test", CaptureLimits::default()).unwrap();
    let mut source = CaptureSource::new(reader, "times".parse::<Pacing>().unwrap(), Snapped::Keep);
    let mut frames = Vec::new();
    while let Some(frame) = source.next().unwrap() {
        frames.push((frame.arrival_fs / 1_000_000, frame.bytes.len()));
    }
    frames
}

#[test]
fn both_ends_of_a_link_are_captured_in_order() {
    let [near, far] = captured(1, "");
    let (near, far) = (read(&near), read(&far));
    assert_eq!((near.len(), far.len()), (60, 60), "30 frames each way");
    assert!(near.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    // Times are relative to the first packet. Node 0 sends every 130 ns, and frames of node 1 arrive 500 ns after they left.
    assert_eq!(near[..3], [(0, 100), (130, 101), (260, 102)]);
    assert_eq!(near[4..6], [(500, 100), (520, 104)]);
    assert_eq!(near, far, "both nodes do the same");
}

#[test]
fn captures_do_not_depend_on_threads_and_show_losses() {
    for faults in ["", "loss=0.2,duplicate=0.1,reorder=0.2:3"] {
        assert!(captured(1, faults) == captured(2, faults));
    }
    let [near, _] = captured(1, "loss=0.5");
    let n = read(&near).len();
    assert!((40..55).contains(&n), "{n}: 30 sent, and about half of 30 received");
}
