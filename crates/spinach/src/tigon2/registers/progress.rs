//! Reports of assists and cores.

use super::block::Block;
use super::map;
use super::state::*;
use blocks::assist::{Attention, DmaProgress, ReceiveProgress, TransmitOrder, TransmitProgress};
use blocks::mips::CpuStatus;

impl Block {
    /// Processes the progress of a DMA assist.
    pub fn record_dma(&mut self, is_read: bool, progress: DmaProgress) {
        let State { read, write, transmit_producer, .. } = &mut self.state;
        let channel = if is_read { read } else { write };
        match progress {
            DmaProgress::Consumer(0, index, state, end) => {
                channel.ring.consumer = index;
                channel.local = end as u32;
                // The last piece of a frame makes it available to the MAC: firmware puts the frame into the transmit ring as
                // soon as it has requested that piece. Without assists firmware moves this pointer itself.
                if is_read && state & LAST_PIECE != 0 {
                    *transmit_producer = end as u32;
                    self.transmit.push(TransmitOrder::BufferProducer(end));
                }
                if !is_read && state & FRAME_BYTES != 0 {
                    self.write_buffers(map::RECEIVE_CONSUMER, (end as u32).next_multiple_of(8));
                }
            }
            DmaProgress::Consumer(_, index, ..) => channel.high_ring.consumer = index,
            DmaProgress::SingleDone(sum, end) => {
                channel.is_single_active = false;
                channel.checksum = u32::from(sum);
                channel.local = end as u32;
            }
            DmaProgress::Failed(_) => {
                channel.is_single_active = false;
                channel.state |= DMA_BUS_ERROR;
            }
        }
    }

    pub fn record_transmit(&mut self, progress: TransmitProgress) {
        match progress {
            TransmitProgress::Consumer(index, end) => {
                self.state.transmit.consumer = index;
                self.state.transmit_consumer = end as u32;
            }
            TransmitProgress::Attention(_) => self.state.transmit_state |= TRANSMIT_UNDERRUN,
        }
    }

    pub fn record_receive(&mut self, progress: ReceiveProgress) {
        match progress {
            ReceiveProgress::Producer(index, end) => {
                self.state.receive.producer = index;
                self.state.receive_producer = end as u32;
            }
            ReceiveProgress::Attention(Attention::BufferFull | Attention::RingFull) => {
                self.state.receive_state |= RECEIVE_FULL;
            }
            // assumed: the other attentions have no bit of their own; the assist counts them.
            ReceiveProgress::Attention(_) => {}
        }
    }

    pub fn record_cpu(&mut self, cpu: usize, status: CpuStatus) {
        let own = &mut self.state.cpus[cpu];
        own.is_halted = status.is_halted;
        own.pc = status.pc;
        if let Some(registers) = status.registers {
            own.general = *registers;
        }
    }
}
