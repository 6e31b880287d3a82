//! Reports of MAC assists, and the line.

use super::*;

#[test]
fn frames_are_received_and_sent() {
    Scene {
        cpus: [
            "1 w 058=7fffffff; 2 w 0d0=133000; 3 w 0c0=176000; 4 w 200=2; 5 w 220=2; 6 w 0f0=130810; 9 r 0f4; 10 r 060; \
             11 r 0f4; 12 r 0d8; 13 r 0e0; 14 r 0c4; 15 w 0e4=131008; 16 w 0c8=200040; 17 w 0e8=131008; 18 r 060; 19 r 0c8",
            "",
        ],
        transmit: &[(10, TransmitProgress::Consumer(2, 0x13_3040))],
        receive: &[(10, ReceiveProgress::Producer(1, 0x17_6040))],
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
        5    transmit Buffers(Buffers { base: 133000, end: 176000 })
        6    A done
        6    dma_read Buffers(Buffers { base: 133000, end: 176000 })
        6    dma_write Buffers(Buffers { base: 176000, end: 200000 })
        6    receive BufferConsumer(0)
        6    transmit Ring(130800)
        7    A done
        7    dma_read Ring(0, 132000)
        7    dma_write Ring(0, 132800)
        7    receive Producer(0)
        7    transmit Enable(true)
        8    dma_read Ring(1, 130000)
        8    dma_write Ring(1, 130400)
        8    receive Consumer(0)
        8    transmit Producer(2)
        9    receive Buffers(Buffers { base: 176000, end: 200000 })
        10   A 00130800
        10   receive Ring(131000)
        11   A 00000040
        11   receive BufferProducer(0)
        12   A 00130810
        12   receive BufferConsumer(0)
        13   A 00133040
        13   receive Producer(0)
        14   A 00131008
        14   receive Consumer(0)
        15   A 00176040
        15   receive Enable(true)
        16   A done
        16   receive Consumer(1)
        17   A done
        17   receive BufferConsumer(176040)
        18   A done
        19   A 00000000
        20   A 00176040
    "#]]);
}

#[test]
fn attentions_are_cleared_by_writing_ones() {
    Scene {
        cpus: ["1 w 058=7fffffff; 2 w 220=2; 10 r 060; 11 r 220; 12 w 220=2; 13 r 060; 14 w 220=40000002; 15 r 060; 16 r 220", ""],
        receive: &[(10, ReceiveProgress::Attention(Attention::BufferFull))],
        ..Scene::default()
    }
    .check(expect![[r#"
        2    A done
        3    A done
        3    receive Enable(true)
        11   A 02000000
        12   A 400c0002
        13   A done
        13   receive Enable(true)
        14   A 02000000
        15   A done
        15   receive Enable(true)
        16   A 00000000
        17   A 000c0002
    "#]]);
}

#[test]
fn a_frame_written_to_the_host_frees_its_buffer() {
    // The first piece belongs to a frame, the second is control data. The last frame ends at the end of the buffers.
    let done = |index, state, end| DmaProgress::Consumer(0, index, state, end);
    Scene {
        cpus: ["1 w 0d0=133000; 2 w 0c0=176000; 20 r 0c8; 22 r 0c8; 24 r 0c8", ""],
        dma_write: &[
            (20, done(1, 0xa_0104, 0x17_65ea)),
            (21, done(2, 0x2_0104, 0x12_9aa8)),
            (23, done(3, 0xa_0104, 0x1f_fffa)),
        ],
        ..Scene::default()
    }
    .check(expect![[r#"
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
        11   receive BufferConsumer(0)
        12   receive Producer(0)
        13   receive Consumer(0)
        21   A 001765f0
        21   receive BufferConsumer(1765f0)
        23   A 001765f0
        24   receive BufferConsumer(176000)
        25   A 00176000
    "#]]);
}

#[test]
fn a_link_partner_sends_configuration_until_the_card_sends_frames() {
    // Negotiation as the released firmware does it: full duplex, then acknowledge, then the transmitter. It writes back the
    // line status bits that it read, which has no effect.
    cores(
        "1 r 220; 2 r 224; 3 w 204=2000; 4 w 204=2040; 5 r 224; 6 w 200=2; 7 w 220=c8002; 8 r 220; 9 r 224",
        "",
        expect![[r#"
            2    A 010c0000
            3    A 00002000
            4    A done
            5    A done
            6    A 00002040
            7    A done
            7    transmit Enable(true)
            8    A done
            8    receive Enable(true)
            9    A 00048002
            10   A 00002040
        "#]],
    );
    // In loopback the card receives its own word.
    cores(
        "1 w 238=c801f6; 2 w 204=80; 3 r 224",
        "",
        expect![[r#"
        2    A done
        3    A done
        4    A 00000080
    "#]],
    );
}
