//! A user-defined arbitration policy in a user-defined module, as shown in docs/concepts/spinach-modules.md.

use blocks::interconnect::ArbiterParams;
use blocks::netlist::{Built, Module, PortSpec, Site};
use blocks::policy::{Arbitration, Arbitrator, Contest};

// From here on as in the page.

/// Parameters of the module `arbiter-last-first`.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct LastFirstArbiter {
    /// Parameters of the arbiter; its policy is ignored.
    arbiter: ArbiterParams,
}

struct LastFirst;

impl Arbitration for LastFirst {
    fn choose(&mut self, contest: &Contest) -> u32 {
        contest.waiting.ilog2()
    }
}

impl Module for LastFirstArbiter {
    const NAME: &'static str = "arbiter-last-first";
    const ABOUT: &'static str = "An arbiter whose last requester goes first.";

    fn ports(&self) -> Vec<PortSpec> {
        self.arbiter.ports()
    }

    fn check(&self) -> Result<(), String> {
        self.arbiter.check()
    }

    fn build(self, site: &mut Site) -> Built {
        self.arbiter.with_arbitration(site, Arbitrator::Own(Box::new(LastFirst)))
    }
}

// To here.

#[test]
fn the_page_shows_what_is_tested() {
    let this = include_str!("own_policy.rs");
    let shown = this.split("as in the page.\n\n").nth(1).and_then(|rest| rest.split("\n// To here.").next());
    let page = include_str!("../../../docs/concepts/spinach-modules.md");
    assert!(page.contains(shown.expect("the markers are there")));
}

#[test]
fn it_is_named_in_a_card_as_any_other() {
    let catalog = blocks::catalog().with::<LastFirstArbiter>();
    let asker = |name: &str, base: u64| {
        format!(
            "[instances.{name}]\nmodule = \"random-requester\"\nreferences = 200\nown = [[{base}, 64]]\nlengths = [1, 4]\n\
             nowhere = []\nhaste_percent = 90\n"
        )
    };
    let wiring = format!(
        "name = \"own\"\nconnections = [\"a.memory -> it.requesters[0]\", \"b.memory -> it.requesters[1]\", \
         \"it.memory -> all.requester\"]\n[clocks]\nmain = \"1 GHz\"\n{}{}\
         [instances.it]\nmodule = \"arbiter-last-first\"\narbiter = {{ requesters = 2, outstanding = 4, \
         burst_references = 1, policy = {{ kind = \"round-robin\" }} }}\n\
         [instances.all]\nmodule = \"model-memory\"\nbase = 0\nbytes = 128\nlongest_cycles = 3\n",
        asker("a", 0),
        asker("b", 64),
    );
    testkit::check_memory_contract(&catalog, &wiring);
}
