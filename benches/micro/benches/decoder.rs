//! Decoding, which happens once for every word of a program.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use isa::riscv::{decode, disassemble, rows};
use std::hint::black_box;

/// One word of every row of the table, and the same number of illegal words.
fn words() -> Vec<u32> {
    rows().flat_map(|row| [row.pattern.value, !row.pattern.value]).collect()
}

fn decoder(criterion: &mut Criterion) {
    let words = words();
    let mut group = criterion.benchmark_group("decoder");
    group.throughput(Throughput::Elements(words.len() as u64));
    group.bench_function("decode", |bencher| {
        bencher.iter(|| words.iter().map(|&word| decode(black_box(word)).len as u64).sum::<u64>());
    });
    group.bench_function("disassemble", |bencher| {
        bencher.iter(|| words.iter().map(|&word| disassemble(decode(black_box(word)), 0).len()).sum::<usize>());
    });
    group.finish();
}

criterion_group!(benches, decoder);
criterion_main!(benches);
