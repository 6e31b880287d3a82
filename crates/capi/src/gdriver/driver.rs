//! The generic driver: runs its options and contexts.

use super::options::Options;
use super::{Interface, MATCHING_CTX_BYTES, trace};
use crate::Error;
use crate::callbacks::UserPtr;
use crate::edge::{Access, Packet, SpinEc};
use crate::ffi::{bytes, msgid, print};
use crate::guard::warn;
use crate::{files, library, program};
use std::ffi::{c_char, c_int};
use std::path::Path;

/// `fill_packet_fun_t`
pub type Fill = unsafe extern "C-unwind" fn(u32, u32, *mut u8, u32, *mut u32) -> u32;
/// `match_packet_fun_t`
pub type Match = unsafe extern "C-unwind" fn(*mut c_char, *mut c_char) -> c_int;

/// Address and size of the memory that the contexts share. Source: PsPIN a49fec8, `gdriver.c`.
pub const HANDLER_MEMORY: (u32, u32) = (0x1C30_0000, 1 << 20);
const HOST_MEMORY: (u64, u32) = (0xDEAD_BEEF_DEAD_BEEF, 1 << 30);
const SCRATCHPAD_BYTES: u32 = 800 * 1024;
/// Maximum total size of a run's packets, which are all held in memory. PsPIN's experiments need less.
const MAX_BYTES: u64 = 8 << 30;
/// Bytes of bookkeeping per packet.
const KEPT_BYTES: u64 = 256;
/// Length of an IPv4 header without options, in 4-byte units, in the high half of the first byte as in `packets.h`.
const IHL: u8 = 5 << 4;

/// A context and its fill callback.
struct Context {
    ec: SpinEc,
    fill: Option<Fill>,
    /// C string for the matching callback.
    matching: [u8; MATCHING_CTX_BYTES],
    /// True if its image exceeds its part of handler memory.
    takes_all: bool,
}

/// Arguments of a new context.
pub struct NewContext<'a> {
    pub file: Option<&'a Path>,
    /// Names of the header, payload and completion handler.
    pub handlers: [Option<&'a str>; 3],
    pub fill: Option<Fill>,
    pub image: Vec<u8>,
    pub matching: &'a [u8],
}

/// The generic driver.
pub struct Driver {
    pub form: Interface,
    options: Options,
    matching: Option<Match>,
    contexts: Vec<Context>,
    /// Image of the only context until the run writes it: address and size.
    pub image: Option<(UserPtr, usize)>,
    /// True while packets wait for the image to be written.
    awaits_image: bool,
    /// Number of packets given to the NIC.
    pub packets: u64,
    /// True if a run failed.
    pub has_failed: bool,
}

impl Driver {
    /// A driver without contexts.
    pub fn new(form: Interface, options: Options, matching: Option<Match>) -> Self {
        let (contexts, image, awaits_image) = Default::default();
        Driver { form, options, matching, contexts, image, awaits_image, packets: 0, has_failed: false }
    }

    /// Adds a context. Without memory images, the first one names the program.
    pub fn add_context(&mut self, new: NewContext<'_>) -> Result<(), Error> {
        let (index, n_parts) = (self.contexts.len(), self.form.contexts());
        if index == n_parts || self.contexts.iter().any(|context| context.takes_all) {
            let allowed = format!("at most {n_parts}, or 1 whose image takes all handler memory");
            return Err(Error::Argument { what: "the number of contexts", found: (index + 1).to_string(), allowed });
        }
        if self.form != Interface::OneContext && new.handlers.iter().all(Option::is_none) {
            return Err(Error::Null { what: "hh, ph and th", wanted: "at least one handler" });
        }
        let file = new.file.ok_or(Error::Null { what: "hfile", wanted: "the name of the program" })?;
        let (chunk, all) = (HANDLER_MEMORY.1 / n_parts as u32, HANDLER_MEMORY.1);
        let room = if index == 0 { all } else { chunk } as usize;
        if new.image.len() > room {
            let allowed = format!("at most {room}");
            return Err(Error::Argument { what: "l2_img_size", found: new.image.len().to_string(), allowed });
        }
        let takes_all = new.image.len() > chunk as usize;
        let addr = |name: Option<&str>| name.map_or(Ok(None), |name| program::find(file, name));
        let [hh, ph, th] = new.handlers.map(addr);
        if !library::load(file)? {
            let (file, why) =
                (file.display(), "memory images in build/slm_files have priority, then the first program");
            let text = format!("{file} is not the running program, so its handlers may have other addresses: {why}");
            warn("gdriver_add_ectx", text);
        }
        let parts = Parts { index: index as u32, n: n_parts as u32 };
        let ec = parts.context(if takes_all { all } else { chunk }, [hh?, ph?, th?]);
        write(&ec, new.image)?;
        let mut matching = [0; MATCHING_CTX_BYTES];
        matching[..new.matching.len()].copy_from_slice(new.matching);
        match self.form {
            Interface::OneContext => describe_handlers(&ec),
            Interface::Contexts | Interface::PlainContexts => describe(&ec, new.matching),
        }
        self.contexts.push(Context { ec, fill: new.fill, matching, takes_all });
        Ok(())
    }

    /// Sets the fill callback of the only context.
    pub fn set_fill(&mut self, fill: Option<Fill>) {
        self.contexts.iter_mut().for_each(|context| context.fill = fill);
    }

    /// Starts a run: gives all packets to the NIC, or first writes the image.
    pub fn begin(&mut self) -> Result<(), Error> {
        let Some((at, size)) = self.image.filter(|_| self.form == Interface::OneContext) else {
            return self.add_packets();
        };
        let ec = self.contexts[0].ec;
        if size > ec.handler_mem_size as usize {
            let allowed = format!("at most {}", { ec.handler_mem_size });
            return Err(Error::Argument { what: "the size of the image", found: size.to_string(), allowed });
        }
        print(&format!("Copying {size} bytes to {:x} (src: {:p})\n", { ec.handler_mem_addr }, at.get()));
        // SAFETY: gdriver_set_l2_img requires memory of that size which lives until the run.
        write(&ec, unsafe { bytes("img", at.get().cast(), size) }?)?;
        self.awaits_image = true;
        Ok(())
    }

    /// A write to the NIC's memories is complete; packets may wait for it.
    pub fn image_is_written(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.awaits_image) { self.add_packets() } else { Ok(()) }
    }

    /// Gives all packets to the NIC.
    fn add_packets(&mut self) -> Result<(), Error> {
        match self.options.trace_file.clone() {
            Some(file) => self.replay(&file)?,
            None => self.generate()?,
        }
        library::end_of_stream()
    }

    fn generate(&mut self) -> Result<(), Error> {
        if self.form == Interface::Contexts {
            print("[GDRIVER]: Using default packet generator\n");
        }
        let Options { num_messages, num_packets, packet_size, packet_delay, message_delay, .. } = self.options;
        library::check_packet(packet_size as usize, 0)?;
        let packets = u64::from(num_messages) * u64::from(num_packets) * self.contexts.len() as u64;
        let bytes = packets.saturating_mul(u64::from(packet_size) + KEPT_BYTES);
        fits(bytes, || format!("{packets} packets of {packet_size} bytes"))?;
        let mut buffer = vec![0; packet_size as usize];
        // With contexts, both the loops and these factors advance the identities, so they count by 2. Users
        // of PsPIN's driver see the same identities.
        let twice = u32::from(self.form != Interface::OneContext);
        let (mut messages, mut packets) = (0u32, 0u32);
        for context in 0..self.contexts.len() {
            for message in 0..num_messages {
                for packet in 0..num_packets {
                    let (id, pkt_idx) = (messages.wrapping_add(message), packets.wrapping_add(packet));
                    let (size, l1_size) = self.contexts[context].fill(id, pkt_idx, &mut buffer, self.form)?;
                    let eom = packet + 1 == num_packets;
                    let wait_cycles = if eom { message_delay } else { packet_delay };
                    let ec = self.contexts[context].ec;
                    let bytes = buffer[..size].to_vec();
                    self.add(Packet { ec, msgid: msgid(id), eom, bytes, l1_size, wait_cycles, user: 0 })?;
                    packets = packets.wrapping_add(twice);
                }
                messages = messages.wrapping_add(twice);
            }
        }
        Ok(())
    }

    fn replay(&mut self, file: &str) -> Result<(), Error> {
        let text = files::read_text(Path::new(file), files::PACKET_BYTES)?;
        print(&format!("[GDRIVER]: Packet trace path: {file}\n"));
        let problem = |problem| Error::Trace { file: file.into(), problem };
        let lines = trace::read(&text, self.contexts.len()).map_err(problem)?;
        let bytes = lines.iter().map(|line| u64::from(line.size) + KEPT_BYTES).sum();
        fits(bytes, || format!("{} packets of {file}", lines.len()))?;
        let matches = self.matching.ok_or(Error::Null { what: "matching_cb", wanted: "a function, for a trace" })?;
        let (mut buffer, mut gap_before) = (Vec::new(), 0);
        for trace::TraceLine { source, destination, size, gap, msgid: id, is_last } in lines {
            print(&format!("{source} {destination} {size} {gap} {id} {}\n", u8::from(is_last)));
            // The gap of a line without a packet applies after the packet of the next line.
            let wait_cycles = std::mem::replace(&mut gap_before, gap);
            if size == 0 {
                continue;
            }
            let takes = |context: &mut Context| context.takes(matches, &source);
            let taker = self.contexts.iter_mut().find_map(|context| takes(context).then_some(context));
            let taker = taker.ok_or_else(|| problem(format!("no context takes packets from {source}")))?;
            library::check_packet(size as usize, 0)?;
            // One buffer for all packets, as in PsPIN's driver: bytes that a fill callback does not write keep their
            // values.
            if buffer.len() < size as usize {
                buffer.resize(size as usize, 0);
            }
            let bytes = &mut buffer[..size as usize];
            let (size, l1_size) = taker.fill(id, 0, bytes, self.form)?;
            let (ec, bytes) = (taker.ec, bytes[..size].to_vec());
            self.add(Packet { ec, msgid: msgid(id), eom: is_last, bytes, l1_size, wait_cycles, user: 0 })?;
        }
        Ok(())
    }

    fn add(&mut self, packet: Packet) -> Result<(), Error> {
        library::add(vec![packet])?;
        self.packets += 1;
        Ok(())
    }
}

impl Context {
    /// Fills a packet. Returns its size and the number of bytes copied to L1.
    fn fill(&self, message: u32, packet: u32, bytes: &mut [u8], form: Interface) -> Result<(usize, u32), Error> {
        let (room, size) = (bytes.len(), bytes.len() as u32);
        let Some(fill) = self.fill else {
            // The IPv4 header as in packets.h: header length, and total length in host byte order.
            if let [first, _, low, high, ..] = bytes {
                *first = *first & 0x0F | IHL;
                [*low, *high] = (size as u16).to_le_bytes();
            }
            return Ok((room, size));
        };
        let mut l1_size = size;
        // SAFETY: the C program registered this function to fill `size` bytes.
        let filled = unsafe { fill(message, packet, bytes.as_mut_ptr(), size, &mut l1_size) };
        match form {
            Interface::Contexts => Ok((room, filled)),
            Interface::OneContext | Interface::PlainContexts if filled <= size => Ok((filled as usize, l1_size)),
            Interface::OneContext | Interface::PlainContexts => {
                let allowed = format!("at most {size}, the size of the packet");
                Err(Error::Argument {
                    what: "the size that the fill callback returned",
                    found: filled.to_string(),
                    allowed,
                })
            }
        }
    }

    /// Returns true if the context takes packets of this source.
    fn takes(&mut self, matches: Match, source: &str) -> bool {
        let mut name = [0; MATCHING_CTX_BYTES];
        name[..source.len()].copy_from_slice(source.as_bytes());
        // SAFETY: both are C strings in buffers of GDRIVER_MATCHING_CTX_MAXSIZE bytes that nothing else uses.
        unsafe { matches(name.as_mut_ptr().cast(), self.matching.as_mut_ptr().cast()) != 0 }
    }
}

/// A context's part of each memory.
struct Parts {
    index: u32,
    n: u32,
}

impl Parts {
    fn context(&self, handler_mem_size: u32, handlers: [Option<u32>; 3]) -> SpinEc {
        let Parts { index, n } = *self;
        let size = |handler: Option<u32>| handler.map_or(0, |_| program::HANDLER_BYTES as u32);
        let [hh, ph, th] = handlers;
        SpinEc {
            handler_mem_addr: HANDLER_MEMORY.0 + index * (HANDLER_MEMORY.1 / n),
            handler_mem_size,
            host_mem_addr: HOST_MEMORY.0 + u64::from(index * (HOST_MEMORY.1 / n)),
            host_mem_size: HOST_MEMORY.1 / n,
            hh_addr: hh.unwrap_or(0),
            hh_size: size(hh),
            ph_addr: ph.unwrap_or(0),
            ph_size: size(ph),
            th_addr: th.unwrap_or(0),
            th_size: size(th),
            scratchpad_addr: [index * (SCRATCHPAD_BYTES / n); 4],
            scratchpad_size: [SCRATCHPAD_BYTES / n; 4],
        }
    }
}

/// Returns an error if packets of this total size do not fit in memory.
fn fits(bytes: u64, found: impl FnOnce() -> String) -> Result<(), Error> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    let allowed = format!("at most {MAX_BYTES} bytes, because all packets are created first");
    Err(Error::Argument { what: "the traffic of the options", found: found(), allowed })
}

/// Writes an image, if there is one, to a context's handler memory.
fn write(ec: &SpinEc, image: Vec<u8>) -> Result<(), Error> {
    if image.is_empty() {
        return Ok(());
    }
    let (size, null) = (image.len(), UserPtr::new(std::ptr::null_mut()));
    library::access(ec.handler_mem_addr, size, || Ok(Access::Write(image, null)))
}

/// Prints the handlers.
fn describe_handlers(ec: &SpinEc) {
    let SpinEc { hh_addr, hh_size, ph_addr, ph_size, th_addr, th_size, .. } = *ec;
    print(&format!(
        "hh_addr: {hh_addr:x}; hh_size: {hh_size};\n\
         ph_addr: {ph_addr:x}; ph_size: {ph_size};\n\
         th_addr: {th_addr:x}; th_size: {th_size};\n"
    ));
}

/// Prints a context.
fn describe(ec: &SpinEc, matching: &[u8]) {
    let SpinEc { hh_addr, hh_size, ph_addr, ph_size, th_addr, th_size, .. } = *ec;
    let SpinEc { handler_mem_addr, handler_mem_size, host_mem_addr, host_mem_size, .. } = *ec;
    let matching = String::from_utf8_lossy(matching);
    print(&format!(
        "[GDRIVER] hh_addr={hh_addr:x}; hh_size={hh_size};\n\
         [GDRIVER] ph_addr={ph_addr:x}; ph_size={ph_size};\n\
         [GDRIVER] th_addr={th_addr:x}; th_size={th_size};\n\
         [GDRIVER] handler_mem_addr={handler_mem_addr:x}; handler_mem_size={handler_mem_size}\n\
         [GDRIVER] host_mem_addr={host_mem_addr:x}; host_mem_size={host_mem_size}\n\
         [GDRIVER] matching context={matching}\n"
    ));
}
