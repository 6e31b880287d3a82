//! Waveforms: the main signals of the NIC as a value change dump, for viewers such as GTKWave.
//!
//! Source: IEEE 1364-2005, 18.2, four-state VCD.

use crate::Error;
use pspin::PspinParams;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A file of waveforms that grows.
pub struct Waves {
    name: String,
    file: BufWriter<File>,
    /// Current value of each signal; `None` is unknown.
    values: Vec<Option<u64>>,
    widths: Vec<u32>,
    n_cores: usize,
    /// Time of the last written change, in ps.
    at: Option<u64>,
}

/// Signals of the NIC, which precede those of the clusters.
const NIC: [(&str, u32); 6] = [
    ("packets_in_memory", 16),
    ("hers_sent", 32),
    ("packets_sent", 32),
    ("bytes_sent", 32),
    ("host_bytes_written", 32),
    ("host_bytes_read", 32),
];
const PACKETS: usize = 0;
const HERS: usize = 1;
const SENT: usize = 2;
const SENT_BYTES: usize = 3;
const WRITTEN: usize = 4;
const READ: usize = 5;
/// First signal of a cluster: its number of tasks. The HPUs follow with one signal each: 0 idle, 1 header, 2 payload, 3
/// completion handler.
const TASKS: usize = 0;

impl Waves {
    /// Creates a file with the signals of a NIC, all 0.
    pub fn create(path: &Path, params: &PspinParams) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|source| Error::Write { file: name.clone(), source })?;
        let (n_clusters, n_cores) = (params.n_clusters as usize, params.cluster.n_cores as usize);
        let mut signals: Vec<(Option<usize>, String, u32)> =
            NIC.iter().map(|&(name, width)| (None, name.to_owned(), width)).collect();
        for cluster in 0..n_clusters {
            signals.push((Some(cluster), "tasks".to_owned(), 8));
            signals.extend((0..n_cores).map(|core| (Some(cluster), format!("hpu_{core}_handler"), 2)));
        }
        let mut waves = Waves {
            name,
            file: BufWriter::new(file),
            values: vec![None; signals.len()],
            widths: signals.iter().map(|&(.., width)| width).collect(),
            n_cores,
            at: None,
        };
        waves.begin(&signals).map_err(|source| Error::Write { file: waves.name.clone(), source })?;
        (0..signals.len()).try_for_each(|signal| waves.set(0, signal, 0))?;
        Ok(waves)
    }

    fn begin(&mut self, signals: &[(Option<usize>, String, u32)]) -> io::Result<()> {
        let file = &mut self.file;
        writeln!(file, "$version spinet $end\n$timescale 1ps $end\n$scope module nic $end")?;
        let mut scope = None;
        for (signal, (cluster, name, width)) in signals.iter().enumerate() {
            if *cluster != scope {
                if scope.is_some() {
                    writeln!(file, "$upscope $end")?;
                }
                writeln!(file, "$scope module cluster_{} $end", cluster.expect("the NIC's signals come first"))?;
                scope = *cluster;
            }
            writeln!(file, "$var wire {width} {} {name} $end", identifier(signal))?;
        }
        if scope.is_some() {
            writeln!(file, "$upscope $end")?;
        }
        writeln!(file, "$upscope $end\n$enddefinitions $end")
    }

    fn set(&mut self, at: u64, signal: usize, value: u64) -> Result<(), Error> {
        let value = value & ((1 << self.widths[signal]) - 1);
        if self.values[signal] == Some(value) {
            return Ok(());
        }
        self.values[signal] = Some(value);
        let is_new = self.at.replace(at) != Some(at);
        let time = if is_new { format!("#{at}\n") } else { String::new() };
        let written = writeln!(self.file, "{time}b{value:b} {}", identifier(signal));
        written.map_err(|source| Error::Write { file: self.name.clone(), source })
    }

    fn add(&mut self, at: u64, signal: usize, more: i64) -> Result<(), Error> {
        let value = self.values[signal].unwrap_or(0).wrapping_add_signed(more);
        self.set(at, signal, value)
    }

    fn cluster(&self, cluster: u64) -> usize {
        NIC.len() + cluster as usize * (1 + self.n_cores)
    }

    /// Sets the number of packets in packet memory.
    pub fn packets(&mut self, at: u64, n: u64) -> Result<(), Error> {
        self.set(at, PACKETS, n)
    }

    /// A request entered the message queues.
    pub fn her(&mut self, at: u64) -> Result<(), Error> {
        self.add(at, HERS, 1)
    }

    /// A task entered or left a cluster.
    pub fn task(&mut self, at: u64, cluster: u64, more: i64) -> Result<(), Error> {
        self.add(at, self.cluster(cluster) + TASKS, more)
    }

    /// A handler of this stage started on an HPU, or the running one ended.
    pub fn handler(&mut self, at: u64, cluster: u64, core: u64, stage: Option<u64>) -> Result<(), Error> {
        let signal = self.cluster(cluster) + 1 + core as usize;
        self.set(at, signal, stage.map_or(0, |stage| stage + 1))
    }

    /// A packet was sent.
    pub fn sent(&mut self, at: u64, bytes: u64) -> Result<(), Error> {
        self.add(at, SENT, 1)?;
        self.add(at, SENT_BYTES, bytes as i64)
    }

    /// Bytes were written to host memory or read from it.
    pub fn host(&mut self, at: u64, written: u64, read: u64) -> Result<(), Error> {
        self.add(at, WRITTEN, written as i64)?;
        self.add(at, READ, read as i64)
    }

    /// Flushes the file.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.file.flush().map_err(|source| Error::Write { file: self.name.clone(), source })
    }
}

/// A signal's identifier: a word of printable characters.
fn identifier(mut signal: usize) -> String {
    const FIRST: usize = b'!' as usize;
    const N: usize = b'~' as usize - FIRST + 1;
    let mut word = String::new();
    loop {
        word.push((FIRST + signal % N) as u8 as char);
        signal /= N;
        if signal == 0 {
            return word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn each_change_is_written_once_with_its_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("waves.vcd");
        let settings =
            ["n_clusters=2", "cluster.n_cores=1"].map(|text| spinet::nics::parse_setting(text).expect("a setting"));
        let params = spinet::nics::load("pspin-rtl", &settings, Path::new("")).expect("a preset");
        let mut waves = Waves::create(&file, &params).expect("a file");
        waves.packets(1000, 1).expect("written");
        waves.her(1000).expect("written");
        waves.task(2000, 1, 1).expect("written");
        waves.handler(3000, 1, 0, Some(1)).expect("written");
        waves.handler(3000, 1, 0, Some(1)).expect("written");
        waves.sent(4000, 64).expect("written");
        waves.handler(5000, 1, 0, None).expect("written");
        waves.task(5000, 1, -1).expect("written");
        waves.flush().expect("written");
        let text = std::fs::read_to_string(&file).expect("a file");
        expect![[r#"
            $version spinet $end
            $timescale 1ps $end
            $scope module nic $end
            $var wire 16 ! packets_in_memory $end
            $var wire 32 " hers_sent $end
            $var wire 32 # packets_sent $end
            $var wire 32 $ bytes_sent $end
            $var wire 32 % host_bytes_written $end
            $var wire 32 & host_bytes_read $end
            $scope module cluster_0 $end
            $var wire 8 ' tasks $end
            $var wire 2 ( hpu_0_handler $end
            $upscope $end
            $scope module cluster_1 $end
            $var wire 8 ) tasks $end
            $var wire 2 * hpu_0_handler $end
            $upscope $end
            $upscope $end
            $enddefinitions $end
            #0
            b0 !
            b0 "
            b0 #
            b0 $
            b0 %
            b0 &
            b0 '
            b0 (
            b0 )
            b0 *
            #1000
            b1 !
            b1 "
            #2000
            b1 )
            #3000
            b10 *
            #4000
            b1 #
            b1000000 $
            #5000
            b0 *
            b0 )
        "#]]
        .assert_eq(&text);
        let words: std::collections::BTreeSet<String> = (0..10_000).map(identifier).collect();
        assert_eq!(words.len(), 10_000);
    }
}
