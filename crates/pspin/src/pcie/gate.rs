//! The card's side of the IOMMU: accesses wait at the link until they are translated.

use crate::events::ACCESS_REFUSED;
use crate::host_events::{HostEvent, Notice};
use crate::host_link::{HostRead, HostTarget, HostWrite, Issuer};
use crate::iommu::{Lookup, SMALL_PAGE, TranslationCache};
use blocks::activity::earliest;
use blocks::pcie::{Read, Write};
use kernel::trace::Tracer;
use kernel::{Activity, CounterList, Cycle, Ports, Tx};
use std::collections::VecDeque;

/// An item whose translation is known from a cycle on.
struct Staged<T> {
    at: Cycle,
    issuer: Issuer,
    what: T,
}

/// Beats and bursts of one initiator, in order.
#[derive(Default)]
struct Stage {
    writes: VecDeque<Staged<Write>>,
    reads: VecDeque<Staged<Read>>,
    /// Translation of the current write burst: the cycle in which it is known, and the physical page.
    writing: Option<(Cycle, Option<u64>)>,
    /// The part of a burst that reaches into the next page is a separate burst.
    rest_of_write: Option<HostWrite>,
    rest_of_read: Option<HostRead>,
    /// End address of the last refused access of each direction: its continuation is not reported again.
    last_fault: [Option<(Issuer, u64)>; 2],
}

/// Accesses of the initiators, translated if there is a translation cache.
///
/// Timing: without a cache, an access is available when its channel shows it. With one, each channel accepts one beat
///         or burst per cycle; they leave in order once their translations are known. A miss of one initiator does
///         not block the others.
pub struct Gate {
    cache: Option<TranslationCache>,
    initiators: Vec<HostTarget>,
    stages: Vec<Stage>,
    /// Accesses of each direction that a stage can hold.
    room: usize,
    notices: Tx<Notice>,
    trace: Tracer,
}

impl Gate {
    pub fn new(
        cache: Option<TranslationCache>,
        hit_cycles: u32,
        initiators: Vec<HostTarget>,
        notices: Tx<Notice>,
        trace: Tracer,
    ) -> Self {
        let stages = initiators.iter().map(|_| Stage::default()).collect();
        Gate { cache, initiators, stages, room: hit_cycles as usize + 2, notices, trace }
    }

    pub fn initiators(&self) -> &[HostTarget] {
        &self.initiators
    }

    /// Returns true if addresses are translated.
    pub fn translates(&self) -> bool {
        self.cache.is_some()
    }

    /// Accepts new accesses and looks up their translations.
    pub fn tick(&mut self, now: Cycle) -> Activity {
        let Some(cache) = &mut self.cache else { return Activity::Idle };
        let mut activity = Activity::Idle;
        for (from, (port, stage)) in self.initiators.iter().zip(&mut self.stages).enumerate() {
            activity = earliest(activity, stage.take_write(now, from, port, cache, self.room));
            activity = earliest(activity, stage.take_read(now, from, port, cache, self.room));
            let write = stage.writes.front().map(|staged| staged.at);
            let read = stage.reads.front().map(|staged| staged.at);
            for at in write.into_iter().chain(read).filter(|&at| at > now) {
                activity = earliest(activity, Activity::Until(at));
            }
        }
        activity
    }

    /// Returns true if initiator `i` has a write beat for the link.
    pub fn has_write(&self, i: usize, now: Cycle) -> bool {
        match self.cache {
            None => self.initiators[i].writes.has_item(),
            Some(_) => self.stages[i].writes.front().is_some_and(|staged| staged.at <= now),
        }
    }

    /// Returns true if initiator `i` has a read burst for the link.
    pub fn has_read(&self, i: usize, now: Cycle) -> bool {
        match self.cache {
            None => self.initiators[i].reads.has_item(),
            Some(_) => self.stages[i].reads.front().is_some_and(|staged| staged.at <= now),
        }
    }

    /// Removes the write beat of initiator `i`.
    pub fn take_write(&mut self, i: usize, now: Cycle) -> Option<Write> {
        if self.cache.is_none() {
            let HostWrite { addr, bytes, last, .. } = self.initiators[i].writes.take()?;
            return Some(Write { from: i, addr, bytes, last, refused: false });
        }
        let Staged { what: write, issuer, .. } = self.stages[i].writes.pop_front()?;
        if write.refused {
            self.refuse(i, now, issuer, write.addr, write.bytes.len() as u32, true);
        }
        Some(write)
    }

    /// Removes the read burst of initiator `i`.
    pub fn take_read(&mut self, i: usize, now: Cycle) -> Option<Read> {
        if self.cache.is_none() {
            let HostRead { addr, size, .. } = self.initiators[i].reads.take()?;
            return Some(Read { from: i, addr, size, last: true, refused: false });
        }
        let Staged { what: read, issuer, .. } = self.stages[i].reads.pop_front()?;
        if read.refused {
            self.refuse(i, now, issuer, read.addr, read.size, false);
        }
        Some(read)
    }

    /// Discards a refused access. The host is notified of the first one of a contiguous series.
    fn refuse(&mut self, i: usize, now: Cycle, issuer: Issuer, addr: u64, size: u32, write: bool) {
        let end = addr.wrapping_add(u64::from(size));
        let last_fault = self.stages[i].last_fault[usize::from(write)].replace((issuer, end));
        if last_fault == Some((issuer, addr)) {
            return;
        }
        let Issuer { packet, context } = issuer;
        self.trace.emit(&ACCESS_REFUSED, now, &[packet.0, u64::from(context), addr, u64::from(write)]);
        self.notices.send(Notice {
            context,
            error_addr: None,
            event: HostEvent::TranslationFault { packet, addr, write },
        });
    }

    pub fn ports(&self, ports: &mut Ports) {
        for (i, initiator) in self.initiators.iter().enumerate() {
            ports.input(&format!("bursts[{i}]"), &initiator.bursts);
            ports.input(&format!("writes[{i}]"), &initiator.writes);
            ports.output(&format!("written[{i}]"), &initiator.written);
            ports.input(&format!("reads[{i}]"), &initiator.reads);
            ports.output(&format!("data[{i}]"), &initiator.data);
        }
        ports.output("notices", &self.notices);
    }

    pub fn counters(&self, counters: &mut CounterList) {
        if let Some(cache) = &self.cache {
            cache.counters(counters);
        }
    }
}

/// Number of bytes from `addr` to the end of its page, at most `size`.
fn in_page(addr: u64, size: u32) -> u32 {
    u64::from(size).min(SMALL_PAGE - addr % SMALL_PAGE) as u32
}

impl Stage {
    fn take_write(
        &mut self,
        now: Cycle,
        from: usize,
        port: &HostTarget,
        cache: &mut TranslationCache,
        room: usize,
    ) -> Activity {
        let shown = |beat: &HostWrite| (beat.addr, beat.bytes.len(), beat.issuer);
        let next = self.rest_of_write.as_ref().map(shown).or_else(|| port.writes.peek().map(|beat| shown(&beat)));
        let Some((addr, size, issuer)) = next.filter(|_| self.writes.len() < room) else { return Activity::Idle };
        let lookup = match self.writing {
            Some((at, page)) => Lookup::At(at.max(now), page.map(|page| page + addr % SMALL_PAGE)),
            None => cache.look_up(now, issuer.context, addr, true),
        };
        let (at, physical) = match lookup {
            Lookup::Busy(at) => return Activity::Until(at),
            Lookup::At(at, physical) => (at, physical),
        };
        let mut beat = self.rest_of_write.take().or_else(|| port.writes.take()).expect("a beat waits");
        let fits = in_page(addr, size as u32) as usize;
        if fits < size {
            let (bytes, addr) = (beat.bytes.part(fits, size), addr + fits as u64);
            self.rest_of_write = Some(HostWrite { addr, bytes, last: beat.last, issuer });
            beat = HostWrite { addr: beat.addr, bytes: beat.bytes.part(0, fits), last: false, issuer };
            self.writing = None;
        } else {
            self.writing = (!beat.last).then_some((at, physical.map(|physical| physical - addr % SMALL_PAGE)));
        }
        let HostWrite { bytes, last, .. } = beat;
        let what = Write { from, addr: physical.unwrap_or(addr), bytes, last, refused: physical.is_none() };
        self.writes.push_back(Staged { at, issuer, what });
        Activity::Busy
    }

    fn take_read(
        &mut self,
        now: Cycle,
        from: usize,
        port: &HostTarget,
        cache: &mut TranslationCache,
        room: usize,
    ) -> Activity {
        let next = self.rest_of_read.or_else(|| port.reads.peek().map(|burst| *burst));
        let Some(HostRead { addr, size, issuer }) = next.filter(|_| self.reads.len() < room) else {
            return Activity::Idle;
        };
        let (at, physical) = match cache.look_up(now, issuer.context, addr, false) {
            Lookup::Busy(at) => return Activity::Until(at),
            Lookup::At(at, physical) => (at, physical),
        };
        if self.rest_of_read.take().is_none() {
            port.reads.take();
        }
        let fits = in_page(addr, size);
        self.rest_of_read = (fits < size).then(|| HostRead { addr: addr + u64::from(fits), size: size - fits, issuer });
        let (addr, last, refused) = (physical.unwrap_or(addr), fits == size, physical.is_none());
        self.reads.push_back(Staged { at, issuer, what: Read { from, addr, size: fits, last, refused } });
        Activity::Busy
    }
}
