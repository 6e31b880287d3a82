//! Files with the contents of host memory.

pub use net::host::Pages;

use std::io;
use std::path::Path;

const PAGE: usize = 4096;

/// A written range of host memory.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Written {
    /// First byte, in hexadecimal: readers of JSON keep 53 bits of a number.
    pub addr: String,
    /// Bytes.
    pub size: u64,
    /// File that holds them.
    pub file: String,
    /// The context whose host memory overlaps this range; `null` if there is none.
    pub context: Option<String>,
    /// Position of the first byte in that memory: negative if the range begins before it.
    pub offset: Option<i64>,
}

/// The host memory of a context.
#[derive(Clone, Debug)]
pub struct ContextMemory {
    /// Name of the context.
    pub context: String,
    /// First address.
    pub addr: u64,
    /// Bytes.
    pub size: u64,
}

impl ContextMemory {
    fn overlaps(&self, addr: u64, size: u64) -> bool {
        addr.wrapping_sub(self.addr) < self.size || self.addr.wrapping_sub(addr) < size
    }
}

/// Writes each written range to a file of its own in `directory`, which must exist, and `index.json` beside them.
pub fn dump(memory: &Pages, contexts: &[ContextMemory], directory: &Path) -> io::Result<Vec<String>> {
    let mut index = Vec::new();
    for (addr, size) in memory.written() {
        let file = format!("{addr:016x}.bin");
        let mut stream = io::BufWriter::new(std::fs::File::create(directory.join(&file))?);
        let mut buffer = [0; PAGE];
        let mut at = addr;
        let mut left = size;
        while left > 0 {
            let len = left.min(PAGE as u64) as usize;
            memory.read(at, &mut buffer[..len]);
            io::Write::write_all(&mut stream, &buffer[..len])?;
            // The address after the last byte of memory wraps around to 0.
            at = at.wrapping_add(len as u64);
            left -= len as u64;
        }
        io::Write::flush(&mut stream)?;
        let of = contexts.iter().find(|one| one.overlaps(addr, size));
        let (context, offset) = (of.map(|one| one.context.clone()), of.map(|one| addr.wrapping_sub(one.addr) as i64));
        index.push(Written { addr: format!("{addr:#018x}"), size, file, context, offset });
    }
    let text = serde_json::to_string_pretty(&index).expect("names and numbers");
    std::fs::write(directory.join("index.json"), text + "\n")?;
    Ok(index.into_iter().map(|written| written.file).chain(["index.json".into()]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_of_memory_are_dumped_like_others() {
        let mut host = Pages::default();
        let first = u64::MAX - PAGE as u64;
        host.write(first, &[7; PAGE + 1]);
        assert_eq!(host.written(), [(first, PAGE as u64 + 1)]);
        let folder = std::env::temp_dir().join(format!("spinet-host-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let memory = |context: &str, addr| ContextMemory { context: context.into(), addr, size: 0x100 };
        let files = dump(&host, &[memory("other", 0x1000), memory("last", first - 16)], &folder).unwrap();
        let sizes: Vec<u64> = files.iter().map(|file| folder.join(file).metadata().unwrap().len()).collect();
        let index = std::fs::read_to_string(folder.join("index.json")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(index.contains(r#""addr": "0xffffffffffffefff""#), "{index}");
        assert!(index.contains("\"context\": \"last\",\n    \"offset\": 16\n"), "{index}");
        assert_eq!((files[0].as_str(), sizes[0]), ("ffffffffffffefff.bin", PAGE as u64 + 1));
    }
}
