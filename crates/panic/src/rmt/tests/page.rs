//! The examples on the reference page are correct.

use super::*;
use crate::rmt::{ChainParams, EntryParams};

const PAGE: &str = include_str!("../../../../../docs/reference/rmt.md");

/// The code blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let begin = format!("```{language}\n");
    PAGE.split(&begin).skip(1).map(|rest| rest.split("```").next().expect("a block ends")).collect()
}

#[test]
fn its_chains_can_be_read() {
    let lines: Vec<&str> = blocks("text")[0].lines().collect();
    assert_eq!(lines.len(), 5);
    let mut rmt = rmt("");
    for line in lines.iter().filter(|line| !line.starts_with("ipsec:")) {
        let chain = rmt.parse_chain(line).unwrap_or_else(|error| panic!("{error}"));
        rmt.insert_chain(&chain).unwrap_or_else(|error| panic!("{error}"));
    }
    ChainParams::parse(lines[0]).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn its_files_can_be_built() {
    let chains = blocks("toml").into_iter().find(|block| block.contains("[[chains]]")).expect("a chain");
    rmt(chains);
    let whole = blocks("toml").into_iter().find(|block| block.contains("stages")).expect("a pipeline");
    let mut rmt = Rmt::new(&toml::from_str(whole).unwrap(), &card()).unwrap_or_else(|error| panic!("{error}"));
    // 76 bytes each with 3000 in the bucket: the 40th packet exceeds it.
    let request = UDP.replace("270f", "2bcb").replace("000d", "002a").replace("45000021", "4500003e");
    let request = request.replace("68656c6c6f", &format!("01{}", "00".repeat(33)));
    let verdicts: Vec<String> = (0..40).map(|_| ask(&mut rmt, 0, ExternalPort::Network(0), &request)).collect();
    assert_eq!((verdicts[38].as_str(), verdicts[39].as_str()), ("=> host:0", "=> drop"));
}

#[test]
fn a_card_of_the_preset_can_have_the_pipeline() {
    let preset = include_str!("../../../../../presets/panic.toml");
    let params: crate::params::PanicParams = toml::from_str(preset).unwrap();
    let card = Card::of(&params, 2);
    assert_eq!(
        card,
        Card { services: vec!["sha".into(), "aes".into()], n_classes: 8, network_ports: 1, host_queues: 2 }
    );
    let params = super::params("chains = [{ name = 'a', services = ['sha'], class = 7 }]");
    assert!(Rmt::new(&params, &card).is_ok());
}

#[test]
fn its_actions_are_actions() {
    let rows = PAGE.lines().skip_while(|line| !line.starts_with("| action")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let actions: Vec<&str> = rows.flat_map(|row| row.split(" | ").next().into_iter().flat_map(code)).collect();
    assert!(actions.len() > 18, "{actions:?}");
    let mut rmt = rmt(r#"
        metadata = ["q", "n", "age", "over"]
        registers = [
            { kind = "words", name = "n", size = 4 },
            { kind = "meter", name = "rate", size = 4, bytes_per_1000_cycles = 9, burst_bytes = 9 },
        ]
        tables = [{ name = "t" }]"#);
    for action in actions {
        let entry: EntryParams =
            toml::from_str(&format!("actions = [{action}]")).unwrap_or_else(|error| panic!("{action}: {error}"));
        rmt.insert("t", &entry).unwrap_or_else(|error| panic!("{action}: {error}"));
    }
}

/// The text between backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
