//! The kernel: a busy pipeline, and a clock's edge.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kernel::{Activity, Component, Cycle, Freq, Ports, Rx, SystemBuilder, Time, Tx};
use std::hint::black_box;

const CYCLES: u64 = 1000;
const STAGES: usize = 16;

/// Takes an item at every edge and passes it on.
struct Stage {
    input: Option<Rx<u64>>,
    output: Option<Tx<u64>>,
}

impl Component for Stage {
    fn tick(&mut self, now: Cycle) -> Activity {
        let item = match &self.input {
            Some(input) => input.take(),
            None => Some(now),
        };
        match (item, &self.output) {
            (Some(item), Some(output)) if output.has_room() => output.send(item),
            _ => {}
        }
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        if let Some(input) = &self.input {
            ports.input("input", input);
        }
        if let Some(output) = &self.output {
            ports.output("output", output);
        }
    }
}

/// A thousand cycles of a pipeline in which every stage works at every edge.
fn pipeline() {
    let mut builder = SystemBuilder::new(1);
    let clock = builder.clock(Freq::mhz(1000).expect("a clock of 1 GHz"));
    let mut input = None;
    for stage in 0..STAGES {
        let is_last = stage + 1 == STAGES;
        let (output, next) = (!is_last).then(|| builder.channel(&format!("link{stage}"), 2, 1)).unzip();
        builder.add(&format!("stage{stage}"), clock, Stage { input, output });
        input = next;
    }
    let mut system = builder.build().expect("the pipeline is wired");
    black_box(system.run_until(Time::from_ns(CYCLES)));
}

fn kernel(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kernel");
    group.throughput(Throughput::Elements(CYCLES * STAGES as u64));
    group.bench_function("ticks", |bencher| bencher.iter(pipeline));
    group.finish();
}

criterion_group!(benches, kernel);
criterion_main!(benches);
