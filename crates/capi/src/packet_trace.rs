//! Packet traces in two files: `pspinsim_packet_trace_read`.
//!
//! The text file has one packet per line, as decimal numbers separated by commas: msgid; address and size of header,
//! payload and completion handler; address and size of handler memory; bytes of the packet; bytes copied to L1; 1 for
//! the last packet of its message; cycles until the next packet. The other file holds the bytes of the packets, one
//! after the other.
//!
//! Source: PsPIN a49fec8, `NICInbound.hpp`, `read_trace`.

use crate::Error;
use crate::edge::{Packet, SpinEc};
use crate::ffi::msgid;
use crate::files;
use std::path::Path;

/// Address and size of every packet's host memory: `PCIE_START_ADDR`, and 1 GiB.
const HOST: (u64, u32) = (0x1000_0000_0000_0000, 0x4000_0000);
/// Size of every packet's scratchpads: `L1_SCRATCHPAD_SIZE`.
const SCRATCHPAD_BYTES: u32 = 0xF_3C00;
/// Numbers per line.
const FIELDS: usize = 13;

/// Reads both files.
pub fn read(pkt_file: &str, data_file: &str) -> Result<Vec<Packet>, Error> {
    let text = files::read_text(Path::new(pkt_file), files::PACKET_BYTES)?;
    let data = files::read(Path::new(data_file), files::PACKET_BYTES)?;
    packets(&text, &data).map_err(|(line, problem)| Error::Text { file: pkt_file.into(), line, problem })
}

/// The error is the number of a line and its problem.
fn packets(text: &str, mut data: &[u8]) -> Result<Vec<Packet>, (usize, String)> {
    let mut packets = Vec::new();
    for (line, content) in text.lines().enumerate().filter(|(_, content)| !content.trim().is_empty()) {
        let fail = |problem: String| (line + 1, problem);
        let fields: Vec<&str> = content.split(',').map(str::trim).collect();
        let numbers: Result<Vec<u32>, _> = fields.iter().map(|field| field.parse().map_err(|_| field)).collect();
        let numbers = numbers.map_err(|field| fail(format!("`{field}` is not a number from 0 to {}", u32::MAX)))?;
        let &[id, hh, hh_size, ph, ph_size, th, th_size, memory, memory_size, size, l1_size, eom, wait] = &numbers[..]
        else {
            return Err(fail(format!("it has {} numbers, must have {FIELDS}", numbers.len())));
        };
        let Some((bytes, rest)) = data.split_at_checked(size as usize) else {
            return Err(fail(format!("the packet has {size} bytes, but the data file has only {} left", data.len())));
        };
        data = rest;
        let ec = SpinEc {
            handler_mem_addr: memory,
            handler_mem_size: memory_size,
            host_mem_addr: HOST.0,
            host_mem_size: HOST.1,
            hh_addr: hh,
            hh_size,
            ph_addr: ph,
            ph_size,
            th_addr: th,
            th_size,
            scratchpad_addr: [0; 4],
            scratchpad_size: [SCRATCHPAD_BYTES; 4],
        };
        let (bytes, eom) = (bytes.to_vec(), eom == 1);
        packets.push(Packet { ec, msgid: msgid(id), eom, bytes, l1_size, wait_cycles: wait, user: 0 });
    }
    Ok(packets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(text: &str, want: Expect) {
        let shown = match packets(text, b"abcdefgh") {
            Ok(packets) => packets.iter().map(|packet| format!("{packet:x?}\n")).collect(),
            Err((line, problem)) => format!("line {line}: {problem}"),
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn a_line_is_a_packet() {
        check(
            "1027,0,0,486539264,4096,0,0,470810624,1024,5,4,0,20\n2,1,1,1,1,1,1,1,1, 3 ,3,1,0\n\n",
            expect![[r#"
            Packet { ec: SpinEc { handler_mem_addr: 1c100000, handler_mem_size: 400, host_mem_addr: 1000000000000000, host_mem_size: 40000000, hh_addr: 0, hh_size: 0, ph_addr: 1d000000, ph_size: 1000, th_addr: 0, th_size: 0, scratchpad_addr: [0, 0, 0, 0], scratchpad_size: [f3c00, f3c00, f3c00, f3c00] }, msgid: 3, eom: false, bytes: [61, 62, 63, 64, 65], l1_size: 4, wait_cycles: 14, user: 0 }
            Packet { ec: SpinEc { handler_mem_addr: 1, handler_mem_size: 1, host_mem_addr: 1000000000000000, host_mem_size: 40000000, hh_addr: 1, hh_size: 1, ph_addr: 1, ph_size: 1, th_addr: 1, th_size: 1, scratchpad_addr: [0, 0, 0, 0], scratchpad_size: [f3c00, f3c00, f3c00, f3c00] }, msgid: 2, eom: true, bytes: [66, 67, 68], l1_size: 3, wait_cycles: 0, user: 0 }
        "#]],
        );
    }

    #[test]
    fn invalid_packets_are_refused() {
        check("1,2", expect!["line 1: it has 2 numbers, must have 13"]);
        check(
            "1,0,0,0,0,0,0,0,0,4,4,0,0\n1,0,0,0,0,0,0,0,0,5,4,0,0",
            expect!["line 2: the packet has 5 bytes, but the data file has only 4 left"],
        );
        check("-1,0,0,0,0,0,0,0,0,4,4,0,0", expect!["line 1: `-1` is not a number from 0 to 4294967295"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9,\n -]{0,120}") {
            let _ = packets(&text, b"abcdefgh");
        }
    }
}
