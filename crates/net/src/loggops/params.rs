//! The parameters of the model.

use diagnostics::near;
use kernel::Time;
use std::fmt;

/// The rules by which messages take time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// As LogGOPSim does.
    Loggopsim2010,
    /// As ATLAHS does.
    Atlahs,
}

impl Model {
    /// Their names.
    pub const NAMES: [&'static str; 2] = ["2010", "atlahs"];

    /// The model of a name.
    pub fn named(name: &str) -> Result<Model, String> {
        match name {
            "2010" => Ok(Model::Loggopsim2010),
            "atlahs" => Ok(Model::Atlahs),
            _ => {
                let hint = near::suggestion(name, Model::NAMES);
                Err(format!("unknown model (found `{name}`; allowed 2010, atlahs){hint}"))
            }
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Model::Loggopsim2010 => "2010",
            Model::Atlahs => "atlahs",
        }
    }
}

/// The parameters of the model, under the names of the model, which distinguish upper and lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_snake_case, reason = "o and O are different parameters")]
pub struct Params {
    /// Latency.
    pub L: Time,
    /// Overhead of a processor for a message.
    pub o: Time,
    /// Gap between messages of a card.
    pub g: Time,
    /// Gap for each byte but the first.
    pub G: Time,
    /// Overhead for each byte but the first.
    pub O: Time,
    /// The largest message that is sent without its receive, in bytes.
    pub S: u64,
}

impl Default for Params {
    fn default() -> Self {
        // source: defaults of LogGOPSim, in nanoseconds and bytes.
        let ns = Time::from_ns;
        Params { L: ns(2500), o: ns(1500), g: ns(1000), G: ns(6), O: ns(0), S: 65_535 }
    }
}

impl Params {
    /// Names of all parameters.
    pub const NAMES: [&'static str; 6] = ["L", "o", "g", "G", "O", "S"];

    /// Reads `L=2500,o=1500,g=1000,G=6,O=0,S=65535`. Parameters that are not named keep their defaults. Times are in
    /// nanoseconds and may have up to six decimals.
    pub fn parse(text: &str) -> Result<Params, String> {
        let mut params = Params::default();
        let mut seen: Vec<&str> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part
                .split_once('=')
                .map(|(name, value)| (name.trim(), value.trim()))
                .ok_or_else(|| format!("a parameter has no value (found `{part}`; allowed for example `L=2500`)"))?;
            if seen.contains(&name) {
                return Err(format!("the parameter `{name}` is there twice (found `{text}`; allowed once)"));
            }
            seen.push(name);
            match name {
                "L" => params.L = time(name, value)?,
                "o" => params.o = time(name, value)?,
                "g" => params.g = time(name, value)?,
                "G" => params.G = time(name, value)?,
                "O" => params.O = time(name, value)?,
                "S" => {
                    params.S = value.parse().map_err(|_| {
                        format!("S must be a number of bytes (found `{value}`; allowed 0 to {})", u64::MAX)
                    })?;
                }
                _ => {
                    let hint = near::suggestion(name, Params::NAMES);
                    return Err(format!("unknown parameter (found `{name}`; allowed L, o, g, G, O, S){hint}"));
                }
            }
        }
        Ok(params)
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = |time: Time| time.to_string().trim_end_matches(" ns").to_owned();
        let Params { L, o, g, G, O, S } = *self;
        write!(f, "L={},o={},g={},G={},O={},S={S}", ns(L), ns(o), ns(g), ns(G), ns(O))
    }
}

/// A time in nanoseconds with up to six decimals.
fn time(name: &str, text: &str) -> Result<Time, String> {
    // assumed: an hour is more than any machine takes for a message, and leaves room for sums.
    const MOST: u64 = 3_600_000_000_000;
    let error =
        || format!("{name} must be a time in ns (found `{text}`; allowed 0 to {MOST}, with up to six decimals)");
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(decimals) || decimals.len() > 6 || text.ends_with('.') {
        return Err(error());
    }
    let ns: u64 = whole.parse().ok().filter(|&ns| ns <= MOST).ok_or_else(error)?;
    let fs: u64 = format!("{decimals:0<6}").parse().map_err(|_| error())?;
    Ok(Time::from_fs(Time::from_ns(ns).fs() + fs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[test]
    fn parameters_are_read_and_shown() {
        assert_eq!(Params::parse(""), Ok(Params::default()));
        expect!["L=3700,o=200,g=5,G=0.04,O=0.000001,S=0"]
            .assert_eq(&Params::parse("L=3700, o=200,g=5,G=0.04,O=0.000001,S=0").unwrap().to_string());
        expect!["L=2500,o=1500,g=1000,G=6,O=0,S=65535"].assert_eq(&Params::default().to_string());
    }

    fn check(text: &str, want: Expect) {
        want.assert_eq(&Params::parse(text).unwrap_err());
    }

    #[test]
    fn wrong_parameters_are_errors() {
        check("l=5", expect!["unknown parameter (found `l`; allowed L, o, g, G, O, S); did you mean `L`?"]);
        check("L", expect!["a parameter has no value (found `L`; allowed for example `L=2500`)"]);
        check("L=5,L=6", expect!["the parameter `L` is there twice (found `L=5,L=6`; allowed once)"]);
        check(
            "L=-1",
            expect!["L must be a time in ns (found `-1`; allowed 0 to 3600000000000, with up to six decimals)"],
        );
        check(
            "L=1e3",
            expect!["L must be a time in ns (found `1e3`; allowed 0 to 3600000000000, with up to six decimals)"],
        );
        check(
            "G=0.0000001",
            expect!["G must be a time in ns (found `0.0000001`; allowed 0 to 3600000000000, with up to six decimals)"],
        );
        check(
            "G=5.",
            expect!["G must be a time in ns (found `5.`; allowed 0 to 3600000000000, with up to six decimals)"],
        );
        check(
            "o=3600000000001",
            expect![
                "o must be a time in ns (found `3600000000001`; allowed 0 to 3600000000000, with up to six decimals)"
            ],
        );
        check("S=1.5", expect!["S must be a number of bytes (found `1.5`; allowed 0 to 18446744073709551615)"]);
        check("latency=5", expect!["unknown parameter (found `latency`; allowed L, o, g, G, O, S)"]);
        expect!["unknown model (found `atlas`; allowed 2010, atlahs); did you mean `atlahs`?"]
            .assert_eq(&Model::named("atlas").unwrap_err());
    }
}
