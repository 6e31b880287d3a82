//! A user-defined module, as shown in docs/guides/write-a-module.md.

use blocks::netlist::{Card, Environment, Netlist};

// From here on as in the page.

use blocks::checks;
use blocks::interconnect::Word;
use blocks::netlist::{Built, Module, OneWay, PortSpec, Site};
use kernel::trace::Counter;
use kernel::{Activity, Component, CounterList, Cycle, Ports, Rx, Tx};

/// Parameters of a [`Sampler`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SamplerParams {
    /// Forwards one word of this many, 1 to 1,000.
    pub period: u64,
}

/// Forwards the first of every `period` words and drops the others.
pub struct Sampler {
    params: SamplerParams,
    input: Rx<Word>,
    output: Tx<Word>,
    /// Words until the next one is forwarded.
    remaining: u64,
    dropped: Counter,
}

impl Sampler {
    /// A sampler between two connections.
    pub fn new(params: SamplerParams, input: Rx<Word>, output: Tx<Word>) -> Sampler {
        Sampler { params, input, output, remaining: 0, dropped: Counter::default() }
    }
}

impl Component for Sampler {
    fn tick(&mut self, _now: Cycle) -> Activity {
        // A word at the input, or room at the output, wakes a component that is idle.
        if !self.input.has_item() || !self.output.has_room() {
            return Activity::Idle;
        }
        let word = self.input.take().expect("has_item is true");
        if self.remaining == 0 {
            self.output.send(word);
            self.remaining = self.params.period;
        } else {
            self.dropped.add(1);
        }
        self.remaining -= 1;
        Activity::Busy
    }

    fn ports(&self, ports: &mut Ports) {
        ports.input("input", &self.input);
        ports.output("output", &self.output);
    }

    fn counters(&self, counters: &mut CounterList) {
        counters.add("dropped", self.dropped.total());
    }
}

impl Module for SamplerParams {
    const NAME: &'static str = "sampler";
    const ABOUT: &'static str = "Forwards one of every few words.";
    const EXAMPLE: &'static str = "period = 10";

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<OneWay<Word>>("input").about("all words"),
            PortSpec::from::<OneWay<Word>>("output").about("the forwarded words"),
        ]
    }

    fn check(&self) -> Result<(), String> {
        checks::within("period", self.period, 1, 1000)
    }

    fn build(self, site: &mut Site) -> Built {
        let (input, output) = (site.to::<OneWay<Word>>("input"), site.from::<OneWay<Word>>("output"));
        Built::new(Sampler::new(self, input, output))
    }
}

#[test]
fn a_sampler_forwards_the_first_of_every_three_words() {
    let log = testkit::bench(20, |bench| {
        let words = (1..=7).map(|i| (i, Word(i))).collect(); // Word i arrives in cycle i.
        let input = bench.input("input", 2, words);
        let output = bench.output("output", 2, |_| true, |word: &Word| word.0.to_string());
        bench.add("sampler", Sampler::new(SamplerParams { period: 3 }, input, output));
        bench.log_counters();
    });
    // A line is a cycle and the word seen in it.
    expect_test::expect![[r#"
        2    output 1
        5    output 4
        8    output 7
        sampler.dropped 4
    "#]]
    .assert_eq(&log);
}

// To here.

#[test]
fn the_page_shows_what_is_tested() {
    let this = include_str!("own_module.rs");
    let shown = this.split("as in the page.\n\n").nth(1).and_then(|rest| rest.split("\n// To here.").next());
    let page = include_str!("../../../docs/guides/write-a-module.md");
    assert!(page.contains(shown.expect("the markers are there")));
}

#[test]
fn a_card_names_it_as_any_other_module() {
    let catalog = blocks::catalog().with::<SamplerParams>();
    let check = |period: u64| {
        let wiring = format!(
            "name = \"own\"\n\
             connections = [\"all.output -> every_third.input\", \"every_third.output -> all.input\"]\n\
             [clocks]\nmain = \"1 GHz\"\n\
             [instances.all]\nmodule = \"sampler\"\nperiod = 1\n\
             [instances.every_third]\nmodule = \"sampler\"\nperiod = {period}\n"
        );
        let alone = |wanted: &str, _: &str| Err(format!("{wanted}: this card has one file"));
        let design = Netlist::read("own.toml", &wiring, &[], &alone).and_then(|netlist| netlist.design(&catalog));
        design.map(|design| Card::build(&design, 0, &Environment::default())).err().map(|errors| errors.to_string())
    };
    assert_eq!(check(3), None);
    expect_test::expect![[r#"
        own.toml: line 10: `every_third` (sampler): period is 0, must be 1 to 1000
          period = 0
                   ^"#]]
    .assert_eq(&check(0).unwrap_or_default());
}
