//! Any text as a chain: an error can be shown, canonical text means the same, and inserted chains take packets.
#![no_main]

use libfuzzer_sys::fuzz_target;
use panic::rmt::{Card, ChainParams, Rmt, RmtParams};
use panic::world::{Classifier, Side};

fuzz_target!(|text: &str| {
    if let Ok(chain) = ChainParams::parse(text) {
        let again = ChainParams::parse(&chain.to_string()).expect("canonical text is a chain");
        assert_eq!(again, chain);
    }
    let params: RmtParams = serde_json::from_str(r#"{"stages": 1, "max_hops": 4, "metadata": ["x"]}"#).expect("a pipeline");
    let services = ["sha", "aes", "kv"].map(str::to_owned).to_vec();
    let card = Card { services, n_classes: 2, network_ports: 1, host_queues: 4 };
    let mut rmt = Rmt::new(&params, &card).expect("a pipeline");
    match rmt.parse_chain(text) {
        Ok(chain) => {
            rmt.insert_chain(&chain).expect("a chain that was looked up can be inserted");
            for from in [Side::Network(0), Side::Host(3)] {
                rmt.classify(0, from, &mut text.as_bytes().to_vec());
            }
        }
        Err(error) => {
            assert!(error.span.end <= text.len());
            let _ = error.to_string();
        }
    }
});
