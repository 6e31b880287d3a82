//! The memories that cores of a card share: the cost of a cycle of each while all requesters request.

use blocks::bus::{Access, Reference, Requester};
use blocks::memory::ScratchpadBanksParams;
use blocks::netlist::{Built, Card, Catalog, Environment, Memory, Module, Netlist, PortSpec, Site};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kernel::{Activity, Component, Cycle, Ports, Time};

const CYCLES: u64 = 1000;
const REQUESTERS: u64 = 10;

/// Reads a word in every cycle in which this is possible, at addresses in all banks.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Reader {
    first: u64,
}

struct Reading {
    port: Requester,
    addr: u64,
}

impl Module for Reader {
    const NAME: &'static str = "reader";
    const ABOUT: &'static str = "Reads a word in every cycle.";

    fn ports(&self) -> Vec<PortSpec> {
        vec![PortSpec::from::<Memory>("memory")]
    }

    fn build(self, site: &mut Site) -> Built {
        Built::new(Reading { port: site.from::<Memory>("memory"), addr: self.first })
    }
}

impl Component for Reading {
    fn tick(&mut self, _now: Cycle) -> Activity {
        self.port.replies.take();
        if self.port.references.has_room() {
            self.port.references.send(Reference { id: 0, addr: self.addr, access: Access::Read(4) });
            self.addr = (self.addr + 20) % 4096;
        }
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        self.port.port("memory", ports);
    }
}

fn scratchpad(criterion: &mut Criterion) {
    let text = format!(
        "name = \"bench\"\nconnections = [\"reader[*].memory -> pad.requesters[*]\"]\n[clocks]\nmain = \"1 GHz\"\n\
         [instances.reader]\nmodule = \"reader\"\ncount = {REQUESTERS}\nfirst = \"4 * $index\"\n\
         [instances.pad]\nmodule = \"scratchpad-banks\"\nrequesters = {REQUESTERS}\nbanks = 4\nword_bytes = 4\nbase = 0\n\
         bytes = 4096\nreference_bytes = 16\noutstanding = 4\npolicy = {{ kind = \"round-robin\" }}\n"
    );
    let catalog = Catalog::default().with::<Reader>().with::<ScratchpadBanksParams>();
    let none = |wanted: &str, _: &str| Err(format!("there is no {wanted}"));
    let netlist = Netlist::read("bench", &text, &[], &none).expect("the card is readable");
    let design = netlist.design(&catalog).expect("the card is wired");
    let mut group = criterion.benchmark_group("memory");
    group.throughput(Throughput::Elements(CYCLES));
    group.bench_function("a cycle of ten readers of four banks", |bencher| {
        let mut card = Card::build(&design, 1, &Environment::default());
        let mut end = 0;
        bencher.iter(|| {
            end += CYCLES;
            card.system.run_until(Time::from_ns(end))
        });
    });
    group.finish();
}

criterion_group!(benches, scratchpad);
criterion_main!(benches);
