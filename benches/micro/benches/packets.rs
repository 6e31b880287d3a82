//! The steps before a packet reaches a card: parsing layers, and a match expression.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wire::expr::Matcher;
use wire::layers::Layers;
use wire::pacing::Pacing;
use wire::source::Source;
use wire::traffic::{Generator, TrafficSpec};

const PACKETS: u64 = 1000;

fn packets(criterion: &mut Criterion) {
    let spec = TrafficSpec::parse(&format!("udp:size=imix,count={PACKETS}")).expect("traffic");
    let matcher = Matcher::parse("udp.dst_port == 9999 && ipv4.src in 10.0.0.0/8").expect("an expression");
    let mut group = criterion.benchmark_group("packets");
    group.throughput(Throughput::Elements(PACKETS));
    group.bench_function("generate, find layers, match", |bencher| {
        bencher.iter(|| {
            let mut source = Generator::new(spec.clone(), Pacing::TIMES).expect("a generator");
            let mut matched = 0_u64;
            while let Some(frame) = source.next().expect("a packet") {
                let layers = Layers::parse(black_box(frame.bytes));
                matched += u64::from(matcher.matches_layers(frame.bytes, &layers));
            }
            assert_eq!(matched, PACKETS);
        });
    });
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
