//! Errors of wired cards that appear before a run starts.

use super::{FIRMWARE, check, file, finish, on, setup};
use expect_test::expect;
use kernel::Mode;
use spinet::run::Wanted;
use spinet::wired::{Firmware, Setup, WiredCard, WiredError};
use std::path::Path;
use std::time::Duration;

#[test]
fn firmware_that_is_none_says_why() {
    let with = |firmware| Setup { firmware, ..setup("", "", "1 ms") };
    let image = |name, bytes: &[u8]| with(Some(Firmware::Image(file(name, bytes))));
    check(with(None), expect!["tigon2: its host loads firmware; name some with --firmware"]);
    check(
        with(Some(Firmware::Image("missing.bin".into()))),
        expect!["missing.bin: No such file or directory (os error 2)"],
    );
    check(
        image("short.bin", &[1, 0, 0, 0]),
        expect![
            "T/short.bin: the file has 4 bytes, must be at least 16: a header (version, entry, load address: big-endian words) and an instruction"
        ],
    );
    check(
        image("load.bin", &[0; 64]),
        expect!["T/load.bin: the load address is 0x0, must be a multiple of 4 from 0x4000 on"],
    );
    check(
        image("entry.bin", &[1, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0x40, 0, 0, 0, 0, 0]),
        expect!["T/entry.bin: the entry is 0x5000, must be a multiple of 4 within the image, 0x4000 to 0x4000"],
    );
    check(
        image("high.bin", &[1, 0, 0, 0, 0, 0x7f, 0xff, 0xfc, 0, 0x7f, 0xff, 0xfc, 0, 0, 0, 0, 0, 0, 0, 0]),
        expect!["T/high.bin: the image has 8 bytes at 0x7ffffc, must end at or below 0x800000"],
    );
    let long = file("long.bin", &[]);
    std::fs::File::options().write(true).open(&long).unwrap().set_len(100 << 20).unwrap();
    check(
        with(Some(Firmware::Image(long.clone()))),
        expect!["T/long.bin: it has more than 16777216 bytes, which no card holds"],
    );
    check(
        with(Some(Firmware::Raw(long, 0x4000, 0x4000))),
        expect!["T/long.bin: it has more than 16777216 bytes, which no card holds"],
    );
    check(
        with(Some(Firmware::Raw(FIRMWARE.into(), 0x4001, 0x4001))),
        expect!["tests/elf/tigon2.bin: the load address is 0x4001, must be a multiple of 4 from 0x4000 on"],
    );
    check(
        with(Some(Firmware::Elf(FIRMWARE.into()))),
        expect!["tests/elf/tigon2.bin: begins with 00 00 00 00, must be an ELF file (7f 45 4c 46)"],
    );
    let riscv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pspin/tests/elf/empty.elf");
    check(
        with(Some(Firmware::Elf(riscv))),
        expect!["../pspin/tests/elf/empty.elf: ELF header: the byte order is little-endian, must be big-endian"],
    );
}

#[test]
fn traffic_that_cannot_be_says_why() {
    let texts = [
        "datagrams:",
        "datagrams:bytes=18:1472,count=3",
        "udp:payload=numbered,byts=18",
        "udp:size=many,payload=numbered",
        "udp:size=60:64,payload=numbered",
        "udp:size=,payload=numbered",
        "udp:size=9042,payload=numbered",
        "udp:size=45,payload=numbered",
        "udp:size=41,payload=numbered",
        "udp:size=59,payload=numbered",
        "udp:bytes=18",
        "udp:size=60,payload=numbered,count=-1",
        "udp:payload=numbered,rate=0pps",
        "udp:size=list:60:64,payload=numbered,rate=1G",
        "udp:payload=numbered,count=3,count=4",
        "udp:size=64,count=2000000",
        "udp:size=7,count=1",
        "missing.pcap",
    ];
    let errors = texts.map(|text| {
        let error = WiredCard::new(setup(text, "", "1 ms"), &Wanted::default())
            .err()
            .map_or("no error".to_owned(), |error| error.to_string());
        error + "\n"
    });
    expect![[r#"
        traffic: `datagrams:`: this is now written `udp:payload=numbered`
        traffic: `datagrams:bytes=18:1472,count=3`: this is now written `udp:payload=numbered,size=list:60:1514,count=3`
        traffic: `udp:payload=numbered,byts=18`: there is no `byts`, it may have size, count, rate, payload with `payload=numbered`
        traffic: `udp:size=many,payload=numbered`: size is `many`, must be bytes of a packet such as `1514`, or of several in turn, `list:60:1514`
        traffic: `udp:size=60:64,payload=numbered`: size is `60:64`, must be bytes of a packet such as `1514`, or of several in turn, `list:60:1514`
        traffic: `udp:size=,payload=numbered`: size is ``, must be bytes of a packet such as `1514`, or of several in turn, `list:60:1514`
        tigon2: the size of datagrams is 9042, must be 60 to 1514 bytes, without check sequence
        tigon2: the size of datagrams is 45, must be 60 to 1514 bytes, without check sequence
        traffic: `udp:size=41,payload=numbered`: size is `41`, must be bytes of a packet such as `1514`, or of several in turn, `list:60:1514`
        tigon2: the size of datagrams is 59, must be 60 to 1514 bytes, without check sequence
        traffic: unknown key `bytes`, must be one of size, count, rate, arrivals, flows, senders, messages, payload, seed, src, dst, src_port, dst_port, src_mac, dst_mac, ecn
          udp:bytes=18
              ^^^^^
        traffic: `udp:size=60,payload=numbered,count=-1`: count is `-1`, must be a number such as 1000 or 10M, or `endless`
        traffic: `udp:payload=numbered,rate=0pps`: rate is `0pps`, must be a rate such as `400M` or `100kpps`, or `max`
        traffic: `udp:size=list:60:64,payload=numbered,rate=1G`: rate is `1G`, must be packets a second, such as `100kpps`, if there are several sizes
        traffic: `udp:payload=numbered,count=3,count=4`: `count` is given twice
        traffic: more than 1000000 frames; take fewer with count, or `udp:payload=numbered`, which can be endless
        traffic: size is 7, must be 60 to 65535 bytes
          udp:size=7,count=1
                   ^
        traffic: missing.pcap: No such file or directory (os error 2)
    "#]].assert_eq(&errors.concat());
    check(
        setup("", "tcp-ack:every=0", "1 ms"),
        expect![
            "send: `tcp-ack:every=0`: every is `0`, must be a number of frames that one acknowledgement is for, 1 to 1000"
        ],
    );
    check(
        setup("", "tcp-ack:each=1", "1 ms"),
        expect!["send: `tcp-ack:each=1`: there is no `each`, it may have every"],
    );
    check(
        setup("", "udp:size=9042,payload=numbered", "1 ms"),
        expect!["tigon2: the size of datagrams is 9042, must be 60 to 1514 bytes, without check sequence"],
    );
}

#[test]
fn a_card_without_that_side_says_so() {
    let card = r#"
        name = "sideless"
        connections = ["in.wire -> out.wire"]
        [clocks]
        line = "125 MHz"
        [instances.in]
        module = "packet-feeder"
        clock = "line"
        line_bps = 1_000_000_000
        kept_times = 10
        [instances.out]
        module = "frame-sink"
        clock = "line"
        kept_times = 10
        kept_frames = 0
    "#;
    let nic = file("sideless.toml", card.as_bytes()).display().to_string();
    let sideless = |traffic, send| Setup { firmware: None, ..on(&nic, setup(traffic, send, "1 ms")) };
    check(
        sideless("udp:payload=numbered", "udp:payload=numbered"),
        expect!["T/sideless.toml: there is no host on this card, so nothing can come of `udp:payload=numbered`"],
    );
    // A card without a host runs, too.
    let run = finish(sideless("udp:payload=numbered,count=5", ""), Mode::Normal, 60_000);
    assert_eq!(run.card.summarize(Duration::ZERO).sent.frames, 5);
}

#[test]
fn a_host_that_acknowledges_nothing_says_so() {
    let tengig = on("tengig", setup("udp:payload=numbered", "tcp-ack", "1 ms"));
    check(tengig, expect!["tengig: there is no host that acknowledges on this card, so nothing can come of `tcp-ack`"]);
}

#[test]
fn errors_are_of_one_kind() {
    let error = WiredCard::new(on("tigon3", setup("", "", "1 ms")), &Wanted::default()).err().unwrap();
    assert!(matches!(error, WiredError::Card(_)), "{error}");
}
