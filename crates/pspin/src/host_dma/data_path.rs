//! The path of beats through an engine: registers, the buffer in which bytes are shifted, and a register.

use crate::host_link::Issuer;
use crate::lanes::{Lanes, lanes_of};
use crate::protocol::PAGE_BYTES;
use blocks::pcie::{Bytes, to_line_end};
use std::collections::VecDeque;

/// Beats that a register holds. Source: PsPIN RTL a49fec8, `spill_register.sv`.
const REGISTER: usize = 2;

/// The register that receives a beat of the source.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Register {
    /// The register of the crossbar's port.
    First,
    /// The next register, if the channel that brings the beat is itself the first register.
    Second,
}

/// A transfer with `left` pending bytes; the next byte goes to `addr` at the destination.
struct PendingBytes {
    addr: u64,
    left: u32,
    issuer: Issuer,
}

/// A beat on its way to the destination.
pub(super) struct Beat {
    pub addr: u64,
    pub bytes: Bytes,
    /// The last of its burst.
    pub last: bool,
    pub issuer: Issuer,
}

/// Takes the beats of the source and forms those of the destination.
///
/// Timing:  a beat that comes to the first register in cycle c can leave in c + 4: two registers, buffer, register. One beat a cycle.
/// Order:   each stage sees the contents and the room from before the cycle. So if a beat cannot leave, the source stops
///          after one cycle for each stage, or later if the buffer has room.
/// Source:  PsPIN RTL a49fec8, `axi_dma_data_path.sv`; `pspin_soc_dma.sv`, `axi_demux.sv` with a cut at each port.
#[derive(Default)]
pub(super) struct DataPath {
    /// The registers between the source and the buffer, in the order of the path. Each beat has a flag, which is true if the
    /// beat ends a read burst. `has_room` is true for a register that had room before this cycle.
    registers: [VecDeque<(Bytes, bool)>; 2],
    has_room: [bool; 2],
    lanes: Lanes,
    bytes: VecDeque<u8>,
    /// Transfers whose bytes enter the buffer, and transfers whose bytes leave it.
    fills: VecDeque<PendingBytes>,
    drains: VecDeque<PendingBytes>,
    /// The register towards the destination, and whether it had room before this cycle.
    leaving: VecDeque<Beat>,
    may_drain: bool,
}

impl DataPath {
    /// One more transfer.
    pub fn start(&mut self, addr: u64, size: u32, issuer: Issuer) {
        self.fills.push_back(PendingBytes { addr, left: size, issuer });
        self.drains.push_back(PendingBytes { addr, left: size, issuer });
    }

    /// A cycle begins.
    pub fn begin(&mut self) {
        self.has_room = self.registers.each_ref().map(|register| register.len() < REGISTER);
        self.may_drain = self.leaving.len() < REGISTER;
    }

    /// The oldest beat that may leave in this cycle.
    pub fn first(&self) -> Option<&Beat> {
        self.leaving.front()
    }

    /// That beat leaves.
    pub fn take(&mut self) -> Option<Beat> {
        self.leaving.pop_front()
    }

    /// Moves beats within the path; returns true if any moved. Called when the oldest beat has left and before the next
    /// one comes.
    pub fn shift(&mut self) -> bool {
        let drained = self.drain_lanes();
        let filled = self.registers[1].front().and_then(|(bytes, _)| {
            let part = self.fills.front().expect("bytes belong to a transfer");
            let lanes = lanes_of(part.addr as u32, &(0..bytes.len() as u32));
            self.lanes.take(lanes).then_some(lanes)
        });
        if let Some((addr, lanes)) = drained {
            self.lanes.pop(lanes);
            self.form_beat(addr);
        }
        if let Some(lanes) = filled {
            self.lanes.push(lanes);
            let (bytes, _) = self.registers[1].pop_front().expect("just seen");
            self.bytes.extend(bytes.iter());
            let part = self.fills.front_mut().expect("just seen");
            part.addr = part.addr.wrapping_add(bytes.len() as u64);
            part.left -= bytes.len() as u32;
            if part.left == 0 {
                self.fills.pop_front();
            }
        }
        let next = if self.has_room[1] { self.registers[0].pop_front() } else { None };
        let has_next = next.is_some();
        self.registers[1].extend(next);
        drained.is_some() || filled.is_some() || has_next
    }

    /// The size and the lanes of the next beat, if all its bytes are in the buffer and the beat may leave the buffer.
    fn drain_lanes(&self) -> Option<(u32, u64)> {
        let part = self.drains.front().filter(|_| self.may_drain)?;
        let size = to_line_end(part.addr, part.left);
        let lanes = lanes_of(part.addr as u32, &(0..size));
        self.lanes.hold(lanes).then_some((size, lanes))
    }

    fn form_beat(&mut self, size: u32) {
        let part = self.drains.front_mut().expect("a transfer has a beat");
        let mut bytes = Bytes::zeros(size as usize);
        bytes.iter_mut().zip(self.bytes.drain(..size as usize)).for_each(|(to, from)| *to = from);
        let end = part.addr.wrapping_add(u64::from(size));
        let last = part.left == size || end.is_multiple_of(u64::from(PAGE_BYTES));
        self.leaving.push_back(Beat { addr: part.addr, bytes, last, issuer: part.issuer });
        (part.addr, part.left) = (end, part.left - size);
        if part.left == 0 {
            self.drains.pop_front();
        }
    }

    /// Returns true if the source may send a beat in this cycle; `at` is the register that takes it.
    pub fn has_room(&self, at: Register) -> bool {
        match at {
            Register::First => self.has_room[0],
            Register::Second => self.has_room[1] && self.registers[0].is_empty(),
        }
    }

    /// Receives a beat of the source, with true if it ends its read burst.
    pub fn enter(&mut self, at: Register, bytes: Bytes, ends: bool) {
        self.has_room = [false; 2];
        self.registers[at as usize].push_back((bytes, ends));
    }

    /// Read bursts that end with a beat in the registers.
    pub fn n_ending(&self) -> usize {
        self.registers.iter().flatten().filter(|&&(_, ends)| ends).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::PacketId;

    const ISSUER: Issuer = Issuer { packet: PacketId(0), context: 0 };

    /// Shows in which cycles beats of a kilobyte come in and go out; its first beat has `offset` bytes less than a line. No beat can leave in
    /// cycle `stop`.
    fn check(offset: usize, stop: u32, want: expect_test::Expect) {
        let (mut path, mut came, mut left) = (DataPath::default(), String::new(), String::new());
        let mut coming = VecDeque::new();
        path.start(0x1000, 1024, ISSUER);
        let beats = [64 - offset].into_iter().chain([64; 15]).chain((offset > 0).then_some(offset));
        coming.extend(beats.map(Bytes::zeros));
        for cycle in 0..24 {
            path.begin();
            let leaves = cycle != stop && path.take().is_some();
            path.shift();
            let comes = path.has_room(Register::First) && !coming.is_empty();
            if comes {
                path.enter(Register::First, coming.pop_front().expect("just seen"), false);
            }
            came.push(if comes { 'i' } else { '.' });
            left.push(if leaves { 'o' } else { '.' });
        }
        want.assert_eq(&format!("{came}\n{left}"));
    }

    #[test]
    fn a_beat_that_cannot_leave_stops_the_source_if_lanes_have_no_room_for_another() {
        check(
            0,
            8,
            expect_test::expect![[r#"
            iiiiiiiiiiiiiiii........
            ....oooo.oooooooooooo..."#]],
        );
        check(
            0x2f,
            8,
            expect_test::expect![[r#"
            iiiiiiiiiiii.iiiii......
            .....ooo.ooooooooooooo.."#]],
        );
        check(
            0,
            99,
            expect_test::expect![[r#"
            iiiiiiiiiiiiiiii........
            ....oooooooooooooooo...."#]],
        );
    }
}
