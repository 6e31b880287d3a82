//! Descriptor rings and reports of DMA assists.

use super::*;

#[test]
fn rings_are_addresses_and_wrap() {
    // P is 0x12e000; the read ring is at P + 0x4000 with 64 entries of 32 bytes.
    let boot = "1 w 0d0=133000; 2 w 0c0=176000; ";
    cores(
        &(boot.to_owned()
            + "10 r 10c; 11 w 100=1327e0; 12 r 100; 13 r 10c; 14 w 100=132800; 15 r 100; 16 w 100=0; 17 r 100; 18 w 11c=1"),
        "",
        expect![[r#"
            2    A done
            2    dma_read Buffers(Buffers { base: 133000, end: 0 })
            2    dma_write Buffers(Buffers { base: 0, end: 200000 })
            2    receive Buffers(Buffers { base: 0, end: 200000 })
            2    transmit Buffers(Buffers { base: 133000, end: 0 })
            3    A done
            3    dma_read Ring(0, 132000)
            3    dma_write Ring(0, 132800)
            3    receive Ring(131000)
            3    transmit Ring(130800)
            4    dma_read Ring(1, 130000)
            4    dma_write Ring(1, 130400)
            4    receive BufferProducer(0)
            4    transmit Buffers(Buffers { base: 133000, end: 176000 })
            5    dma_read Buffers(Buffers { base: 133000, end: 176000 })
            5    dma_write Buffers(Buffers { base: 176000, end: 200000 })
            5    receive BufferConsumer(0)
            5    transmit Ring(130800)
            6    dma_read Ring(0, 132000)
            6    dma_write Ring(0, 132800)
            6    receive Producer(0)
            7    dma_read Ring(1, 130000)
            7    dma_write Ring(1, 130400)
            7    receive Consumer(0)
            8    receive Buffers(Buffers { base: 176000, end: 200000 })
            9    receive Ring(131000)
            10   receive BufferProducer(0)
            11   A 00132000
            11   receive BufferConsumer(0)
            12   A done
            12   dma_read Producer(0, 3f)
            12   receive Producer(0)
            13   A 001327e0
            13   receive Consumer(0)
            14   A 00000000
            15   A done
            15   dma_read Producer(0, 0)
            16   A 00132000
            17   A done
            17   dma_read Producer(0, 0)
            18   A 00132000
            19   A done
            19   dma_read Enable(true)
            19   dma_write Enable(true)
        "#]],
    );
}

#[test]
fn a_finished_dma_is_an_event_until_firmware_acknowledges_it() {
    Scene {
        cpus: [
            "1 w 058=7fffffff; 2 w 0d0=133000; 3 w 11c=1; 4 w 100=132040; 11 r 060; 11 r 0b0; 12 r 060; 13 r 104; \
             14 w 108=132040; 15 r 060; 16 r 0d4",
            "",
        ],
        dma_read: &[(12, DmaProgress::Consumer(0, 2, 0x2_0004, 0x13_4000))],
        ..Scene::default()
    }
    .check(expect![[r#"
        2    A done
        3    A done
        3    dma_read Buffers(Buffers { base: 133000, end: 0 })
        3    dma_write Buffers(Buffers { base: 0, end: 200000 })
        3    receive Buffers(Buffers { base: 0, end: 200000 })
        3    transmit Buffers(Buffers { base: 133000, end: 0 })
        4    A done
        4    dma_read Ring(0, 132000)
        4    dma_write Ring(0, 132800)
        4    receive Ring(131000)
        4    transmit Ring(130800)
        5    A done
        5    dma_read Ring(1, 130000)
        5    dma_write Ring(1, 130400)
        5    receive BufferProducer(0)
        6    dma_read Enable(true)
        6    dma_write Enable(true)
        6    receive BufferConsumer(0)
        7    dma_read Producer(0, 2)
        7    receive Producer(0)
        8    receive Consumer(0)
        12   A 00000000
        13   A 00000000
        13   transmit BufferProducer(134000)
        14   A 00008000
        15   A 00132040
        16   A done
        17   A 00000000
        18   A 00134000
    "#]]);
}

#[test]
fn a_reference_ahead_of_the_consumer_is_an_event_only_when_passed() {
    // Four entries are written; firmware wants to know only when the third, entry 2, is done.
    let done = |index| DmaProgress::Consumer(0, index, 4, 0);
    Scene {
        cpus: [
            "1 w 058=7fffffff; 2 w 100=80; 3 w 108=40; 11 r 060; 12 r 060; 13 r 060; 14 r 060; 15 w 108=60; 16 r 060",
            "",
        ],
        dma_read: &[(11, done(1)), (12, done(2)), (14, done(3))],
        ..Scene::default()
    }
    .check(expect![[r#"
        2    A done
        3    A done
        3    dma_read Producer(0, 4)
        4    A done
        12   A 00000000
        13   A 00000000
        14   A 00000000
        15   A 00008000
        16   A done
        17   A 00000000
    "#]]);
}

#[test]
fn a_transfer_without_descriptor_is_active_until_it_is_done() {
    Scene {
        cpus: ["1 w 090=1; 2 w 094=1000; 3 w 0b4=300; 4 w 09c=490; 5 w 0b0=6; 6 r 0b0; 19 r 0b0; 21 r 0b0; 22 r 0b4; 23 r 0b8", ""],
        dma_read: &[(20, DmaProgress::SingleDone(0xbeef, 0x790))],
        ..Scene::default()
    }
    .check(expect![[r#"
        2    A done
        3    A done
        4    A done
        5    A done
        6    A done
        6    dma_read Single(Transfer { host: 100001000, local: 300, bytes: 490, state: 6, checksum_at: 0 })
        7    A 00000006
        20   A 00000006
        22   A 00000002
        23   A 00000790
        24   A 0000beef
    "#]]);
}

#[test]
fn a_failed_transfer_is_an_attention_until_the_channel_is_reset() {
    Scene {
        cpus: ["1 w 058=7fffffff; 9 r 060; 10 r 060; 11 r 0b0; 12 w 0b0=1; 13 r 060", ""],
        dma_read: &[(10, DmaProgress::Failed(BusError::Nowhere(0)))],
        ..Scene::default()
    }
    .check(expect![[r#"
        2    A done
        10   A 00000000
        11   A 00100000
        12   A 80000000
        13   A done
        13   dma_read Reset
        14   A 00000000
        14   dma_read Consumer(0, 0)
        15   dma_read Producer(0, 0)
        16   dma_read Consumer(1, 0)
        17   dma_read Producer(1, 0)
    "#]]);
}
