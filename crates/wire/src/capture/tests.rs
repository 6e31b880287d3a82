//! Captures built byte by byte: every supported variant, and damaged ones.

use super::input::Order;
use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn u16s(order: Order, values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|v| if order == Order::Big { v.to_be_bytes() } else { v.to_le_bytes() }).collect()
}

fn u32s(order: Order, values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| if order == Order::Big { v.to_be_bytes() } else { v.to_le_bytes() }).collect()
}

/// A pcap file with records (seconds, fraction, captured, original). Packet bytes count up.
fn pcap(order: Order, magic: u32, link: u32, records: &[(u32, u32, u32, u32)]) -> Vec<u8> {
    let mut file = u32s(order, &[magic]);
    file.extend(u16s(order, &[2, 4]));
    file.extend(u32s(order, &[0, 0, 65_535, link]));
    for &(s, fraction, captured, original) in records {
        file.extend(u32s(order, &[s, fraction, captured, original]));
        file.extend((0..captured.min(1 << 16)).map(|i| i as u8));
    }
    file
}

fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let len = body.len() as u32 + 12;
    [u32s(order, &[kind, len]), body, u32s(order, &[len])].concat()
}

fn section(order: Order) -> Vec<u8> {
    let body = [u32s(order, &[0x1a2b_3c4d]), u16s(order, &[1, 0]), vec![0xff; 8]].concat();
    block(order, 0x0a0d_0d0a, &body)
}

fn interface(order: Order, link: u16, snap_len: u32, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = [u16s(order, &[link, 0]), u32s(order, &[snap_len])].concat();
    for (code, value) in options {
        body.extend(u16s(order, &[*code, value.len() as u16]));
        body.extend(*value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    block(order, 1, &body)
}

fn enhanced(order: Order, interface: u32, ticks: u64, captured: u32, original: u32) -> Vec<u8> {
    let mut body = u32s(order, &[interface, (ticks >> 32) as u32, ticks as u32, captured, original]);
    body.extend((0..captured.min(1 << 16)).map(|i| i as u8));
    block(order, 6, &body)
}

/// A reader's results for a file: one line per packet, then its counts, then the reason why it stopped.
fn read(file: &[u8]) -> String {
    let mut reader = match CaptureReader::new(file, "test", CaptureLimits::default()) {
        Ok(reader) => reader,
        Err(error) => return error.to_string(),
    };
    let mut text = String::new();
    while let Some(r) = reader.next().unwrap() {
        let time = r.time_fs.map_or("-".into(), |t| t.to_string());
        text +=
            &format!("#{} @{} t={time} {}/{} if{}\n", r.index, r.offset, r.bytes.len(), r.original_len, r.interface);
    }
    let counts = format!("{:?}", reader.counts());
    let counts = counts.trim_start_matches("CaptureCounts { ").trim_end_matches(" }");
    text += &counts.split(", ").filter(|c| !c.ends_with(": 0")).collect::<Vec<_>>().join(", ");
    if let Some(stop) = reader.stop() {
        text += &format!("\n{stop}");
    }
    text
}

fn check(file: &[u8], want: Expect) {
    want.assert_eq(&read(file));
}

const MICRO: u32 = 0xa1b2_c3d4;
const NANO: u32 = 0xa1b2_3c4d;
use Order::{Big, Little};

#[test]
fn pcap_in_both_resolutions_and_byte_orders() {
    let records = [(1, 5, 60, 60), (2, 999_999, 60, 1514)];
    let micro = expect![[r#"
        #0 @24 t=1000005000000000 60/60 if0
        #1 @100 t=2999999000000000 60/1514 if0
        packets: 2, bytes: 120, snapped: 1"#]];
    assert_eq!(read(&pcap(Big, MICRO, 1, &records)), read(&pcap(Little, MICRO, 1, &records)));
    check(&pcap(Little, MICRO, 1, &records), micro);
    let nano = expect![[r#"
        #0 @24 t=1000000005000000 60/60 if0
        #1 @100 t=2000999999000000 60/1514 if0
        packets: 2, bytes: 120, snapped: 1"#]];
    assert_eq!(read(&pcap(Big, NANO, 1, &records)), read(&pcap(Little, NANO, 1, &records)));
    check(&pcap(Little, NANO, 1, &records), nano);
}

#[test]
fn pcap_odd_packets_are_counted() {
    let odd = [(0, 0, 13, 60), (0, 0, 60, 20), (0, 0, 1515, 1515), (0, 0, 60, 65_536), (0, 0, 0, 0)];
    check(
        &pcap(Little, MICRO, 1, &odd),
        expect![[r#"
        #1 @53 t=0 60/60 if0
        #2 @129 t=0 1515/1515 if0
        packets: 2, bytes: 1575, too_long: 1, too_short: 2, jumbo: 1, contradictory_lengths: 1"#]],
    );
    check(&pcap(Little, MICRO, 101, &[(0, 0, 60, 60)]), expect!["other_link_types: 1"]);
    // The file declares that packets end with an FCS of two 16-bit words.
    check(
        &pcap(Little, MICRO, 0x2400_0001, &[(0, 0, 64, 64), (0, 0, 60, 64)]),
        expect![[r#"
        #0 @24 t=0 60/60 if0
        #1 @104 t=0 60/60 if0
        packets: 2, bytes: 120, fcs_removed: 1"#]],
    );
}

#[test]
fn truncated_pcap_ends_with_a_warning() {
    let whole = pcap(Little, MICRO, 1, &[(0, 0, 60, 60), (0, 0, 60, 60)]);
    check(&whole[..24], expect![""]);
    check(
        &whole[..30],
        expect![[r#"
            truncated: 1
            the capture is truncated: the record at offset 24 has 6 of 16 bytes"#]],
    );
    check(
        &whole[..40],
        expect![[r#"
            truncated: 1
            the capture is truncated: the record at offset 24 has 16 of 76 bytes"#]],
    );
    check(
        &whole[..175],
        expect![[r#"
            #0 @24 t=0 60/60 if0
            packets: 1, bytes: 60, truncated: 1
            the capture is truncated: the record at offset 100 has 75 of 76 bytes"#]],
    );
}

#[test]
fn invalid_pcap_lengths_end_with_a_warning() {
    let file = pcap(Little, MICRO, 1, &[(0, 0, 60, 60), (0, 0, u32::MAX, u32::MAX), (0, 0, 60, 60)]);
    check(
        &file,
        expect![[r#"
        #0 @24 t=0 60/60 if0
        packets: 1, bytes: 60, corrupt: 1
        the capture is damaged: captured length at offset 100 is 4294967295, must be at most 1048576"#]],
    );
}

#[test]
fn errors_name_the_format_of_other_files() {
    check(b"", expect!["test: the file is empty, must be a pcap or pcapng capture"]);
    check(b"ab", expect!["test: offset 0: found 61 62, must be a pcap or pcapng capture"]);
    check(b"hello", expect!["test: offset 0: found 68 65 6c 6c, must be a pcap or pcapng capture"]);
    check(
        &[0x1f, 0x8b, 8, 0],
        expect![
            "test: offset 0: found 1f 8b 08 00 (gzip), must be a pcap or pcapng capture; decompress it first (gunzip)"
        ],
    );
    check(
        &pcap(Little, 0xa1b2_cd34, 1, &[]),
        expect![
            "test: offset 0: found 34 cd b2 a1 (modified pcap (Kuznetzov's libpcap patch)), must be a pcap or pcapng capture; convert it with `editcap -F pcap`"
        ],
    );
    check(&pcap(Big, MICRO, 1, &[])[..23], expect!["test: 23 bytes, must be at least 24 for the header of a capture"]);
    let mut old = pcap(Big, MICRO, 1, &[]);
    old[5] = 1;
    check(&old, expect!["test: offset 4: found pcap version 1.4, must be version 2.x"]);
    check(&section(Big)[..20], expect!["test: 20 bytes, must be at least 28 for the header of a capture"]);
    let mut mixed = section(Big);
    mixed[8] = 9;
    check(
        &mixed,
        expect!["test: offset 8: found byte-order magic [09, 2b, 3c, 4d], must be 1a 2b 3c 4d or 4d 3c 2b 1a"],
    );
    let missing = CaptureReader::open("/nonexistent.pcap").err().unwrap().to_string();
    assert_eq!(missing, "/nonexistent.pcap: No such file or directory (os error 2)");
    assert!(CaptureReader::open("/").err().unwrap().to_string().contains("directory"));
}

#[test]
fn pcapng_with_sections_interfaces_and_resolutions() {
    let mut file = Vec::new();
    for order in [Big, Little] {
        let offset = if order == Big { 10i64.to_be_bytes() } else { 10i64.to_le_bytes() };
        file.extend(section(order));
        file.extend(interface(order, 1, 0, &[]));
        file.extend(interface(order, 1, 0, &[(2, b"eth1"), (9, &[9])]));
        file.extend(interface(order, 1, 0, &[(9, &[0x8a]), (14, &offset), (13, &[4])]));
        file.extend(enhanced(order, 0, 7, 61, 61));
        file.extend(enhanced(order, 1, 1 << 32, 60, 60));
        file.extend(block(order, 0x0bad, b"whatever"));
        file.extend(enhanced(order, 2, 1024, 64, 64));
    }
    check(
        &file,
        expect![[r#"
            #0 @132 t=7000000000 61/61 if0
            #1 @228 t=4294967296000000 60/60 if1
            #3 @340 t=11000000000000000 60/60 if2
            #4 @568 t=7000000000 61/61 if0
            #5 @664 t=4294967296000000 60/60 if1
            #7 @776 t=11000000000000000 60/60 if2
            packets: 6, bytes: 362, fcs_removed: 2, other_blocks: 2"#]],
    );
}

#[test]
fn pcapng_simple_and_obsolete_packet_blocks() {
    for order in [Big, Little] {
        let mut file = [section(order), interface(order, 1, 61, &[])].concat();
        file.extend(block(order, 3, &[u32s(order, &[61]), vec![1; 61]].concat()));
        file.extend(block(order, 3, &[u32s(order, &[100]), vec![1; 61]].concat()));
        let obsolete = [u16s(order, &[0, 3]), u32s(order, &[0, 9, 60, 60]), vec![1; 60]].concat();
        file.extend(block(order, 2, &obsolete));
        check(
            &file,
            expect![[r#"
            #0 @48 t=- 61/61 if0
            #1 @128 t=- 61/100 if0
            #2 @208 t=9000000000 60/60 if0
            packets: 3, bytes: 182, snapped: 1, without_time: 2"#]],
        );
    }
}

#[test]
fn a_simple_packet_block_without_its_packet_is_skipped() {
    let file =
        [section(Little), interface(Little, 1, 0, &[]), block(Little, 3, &u32s(Little, &[61, 1, 2, 3]))].concat();
    check(
        &[file, enhanced(Little, 0, 0, 60, 60)].concat(),
        expect![[r#"
        #0 @76 t=0 60/60 if0
        packets: 1, bytes: 60, malformed_blocks: 1"#]],
    );
}

#[test]
fn unreadable_interface_options_are_counted_and_the_interface_remains() {
    let good: (u16, &[u8]) = (9, &[9]);
    let with = |body: Vec<u8>| [section(Little), body, enhanced(Little, 0, 5, 60, 60)].concat();
    // A resolution of two bytes, which is invalid.
    let wrong = expect![[r#"
        #0 @64 t=5000000 60/60 if0
        packets: 1, bytes: 60, malformed_blocks: 1"#]];
    check(&with(interface(Little, 1, 0, &[good, (9, &[3, 0])])), wrong);
    let mut beyond = interface(Little, 1, 0, &[good, (2, b"eth0")]);
    let length_at = beyond.len() - 4 - 4 - 2;
    beyond[length_at..length_at + 2].fill(0xff);
    check(
        &with(beyond),
        expect![[r#"
        #0 @64 t=5000000 60/60 if0
        packets: 1, bytes: 60, malformed_blocks: 1"#]],
    );
}

#[test]
fn packets_have_the_numbers_of_wireshark() {
    let others = [9, 0xbad, 0x4000_0bad, 5, 10].map(|kind| block(Little, kind, &[7; 12])).concat();
    let file = [section(Little), others, interface(Little, 1, 0, &[]), enhanced(Little, 0, 0, 60, 60)].concat();
    check(
        &file,
        expect![[r#"
        #3 @168 t=0 60/60 if0
        packets: 1, bytes: 60, other_blocks: 5"#]],
    );
}

#[test]
fn contradictory_pcapng_blocks_are_skipped_or_end_the_capture() {
    let start = [section(Little), interface(Little, 1, 0, &[])].concat();
    let good = enhanced(Little, 0, 0, 60, 60);
    let with = |block: Vec<u8>| [start.clone(), block, good.clone()].concat();
    let skipped = expect![[r#"
        #0 @140 t=0 60/60 if0
        packets: 1, bytes: 60, malformed_blocks: 1"#]];
    let mut lies = good.clone();
    lies[20] = 200;
    check(&with(lies), skipped);
    assert_eq!(read(&with(enhanced(Little, 1, 0, 60, 60))), read(&with(enhanced(Little, 7, 0, 60, 60))));
    check(
        &with(block(Little, 6, &[0; 16])),
        expect![[r#"
        #0 @76 t=0 60/60 if0
        packets: 1, bytes: 60, malformed_blocks: 1"#]],
    );
    let mut short = good.clone();
    short[4] = 11;
    check(
        &with(short),
        expect![[r#"
        corrupt: 1
        the capture is damaged: block length at offset 48 is 11, must be a multiple of 4 that holds the block's fixed part"#]],
    );
    let mut end = good.clone();
    end[88] = 1;
    check(
        &with(end),
        expect![[r#"
        corrupt: 1
        the capture is damaged: block length at the end of the block at offset 48 is 1, must be the length at its start"#]],
    );
    let mut later = section(Little);
    later[12] = 2;
    check(
        &with(later),
        expect![[r#"
        corrupt: 1
        the capture is damaged: major version of the section at offset 48 is 2, must be 1"#]],
    );
    let huge = u32s(Little, &[6, 0xffff_fffc, 0]);
    check(
        &with(huge),
        expect![[r#"
            truncated: 1
            the capture is truncated: the record at offset 48 has 104 of 4294967292 bytes"#]],
    );
}

#[test]
fn the_reader_reads_what_the_writer_wrote() {
    let mut writer = PcapngWriter::new(Vec::new(), "spinet test").unwrap();
    let name = Interface { name: "nic.tx".into(), description: "sent by the NIC".into(), link_bps: 400_000_000_000 };
    let tx = writer.add_interface(&name).unwrap();
    writer.write(tx, 5_000_000_001, &[7; 61], Some("hpu 3, 120 cycles")).unwrap();
    writer.write(tx, 5_000_000_002, &[8; 60], None).unwrap();
    let long = writer.write(tx, 0, &[0; 60], Some(&"x".repeat(65_536))).unwrap_err();
    assert_eq!(long.to_string(), "comment has 65536 bytes, must be at most 65535");
    check(
        &writer.finish().unwrap(),
        expect![[r#"
            #0 @124 t=5000000001000000 61/61 if0
            #1 @248 t=5000000002000000 60/60 if0
            packets: 2, bytes: 121"#]],
    );
}

proptest! {
    /// Reading a damaged capture ends without a panic and returns at most as many bytes as the file has.
    #[test]
    fn damaged_captures_cause_no_panic(
        order in prop::sample::select(vec![Big, Little]),
        is_pcapng: bool,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut file = if is_pcapng {
            let simple = block(order, 3, &[u32s(order, &[30]), vec![1; 30]].concat());
            let options: [(u16, &[u8]); 2] = [(9, &[9]), (14, &[1; 8])];
            [section(order), interface(order, 1, 0, &options), enhanced(order, 0, 9, 40, 40), simple].concat()
        } else {
            pcap(order, NANO, 1, &[(1, 2, 40, 40), (3, 4, 50, 60)])
        };
        for (index, value) in edits {
            let at = index.index(file.len());
            file[at] = value;
        }
        file.truncate(cut.index(file.len()) + 1);
        if let Ok(mut reader) = CaptureReader::new(&file[..], "test", CaptureLimits::default()) {
            let mut bytes = 0;
            while let Some(record) = reader.next().unwrap() {
                bytes += record.bytes.len();
                prop_assert!(record.bytes.len() <= record.original_len as usize);
            }
            prop_assert!(bytes <= file.len());
        }
    }
}
