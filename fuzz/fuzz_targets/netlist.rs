//! Any text as a card that is wired from modules: reading, checking and building end with a card or with errors to show.
#![no_main]

use blocks::netlist::{Card, Environment, Netlist};
use libfuzzer_sys::fuzz_target;

const PRESET: &str = include_str!("../../presets/tigon2.toml");

fuzz_target!(|text: &str| {
    let find = |wanted: &str, _: &str| match wanted {
        "tigon2" => Ok(("tigon2".to_owned(), PRESET.to_owned())),
        "self" => Ok(("self".to_owned(), text.to_owned())),
        _ => Err(format!("there is no `{wanted}`")),
    };
    // Without the hosts of cards: a host needs firmware when it is built.
    match Netlist::read("fuzz.toml", text, &[], &find)
        .and_then(|netlist| netlist.design(&spinach_parts::add_to(blocks::catalog())))
    {
        Ok(design) if design.parts.len() < 100 => drop(Card::build(&design, 1, &Environment::default())),
        Ok(_) => {}
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
});
