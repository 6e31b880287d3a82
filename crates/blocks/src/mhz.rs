//! Clock frequencies in MHz, as parameters state them.

use kernel::{Freq, FreqError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A frequency in MHz, exact to the hertz: `1000` or `312.5`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mhz {
    hz: u64,
}

const HZ: u64 = 1_000_000;

impl Mhz {
    /// Minimum clock frequency in a card's file.
    pub const LEAST: Mhz = Mhz { hz: HZ };
    /// Maximum clock frequency in a card's file.
    pub const MOST: Mhz = Mhz { hz: 100_000 * HZ };

    /// The frequency in hertz.
    pub const fn hz(self) -> u64 {
        self.hz
    }

    /// The frequency for a kernel clock; 0 Hz is an error.
    pub const fn freq(self) -> Result<Freq, FreqError> {
        Freq::hz(self.hz)
    }

    /// The frequency in MHz, for reports.
    pub fn as_f64(self) -> f64 {
        self.hz as f64 / HZ as f64
    }

    /// The exact frequency of a decimal number, or `None` if it has more than six decimals.
    fn from_decimal(mhz: f64) -> Option<Mhz> {
        // Negative numbers and NaN become 0, which then differs from `mhz`.
        let exact = Mhz { hz: (mhz * HZ as f64).round() as u64 };
        (exact.as_f64() == mhz).then_some(exact)
    }
}

impl From<u32> for Mhz {
    /// Whole MHz.
    fn from(mhz: u32) -> Self {
        Mhz { hz: u64::from(mhz) * HZ }
    }
}

impl fmt::Display for Mhz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hz % HZ {
            0 => write!(f, "{}", self.hz / HZ),
            _ => write!(f, "{}", self.as_f64()),
        }
    }
}

impl Serialize for Mhz {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.hz % HZ {
            0 => serializer.serialize_u64(self.hz / HZ),
            _ => serializer.serialize_f64(self.as_f64()),
        }
    }
}

impl<'de> Deserialize<'de> for Mhz {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = Mhz;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of MHz with at most six decimals")
            }

            fn visit_u64<E: Error>(self, mhz: u64) -> Result<Mhz, E> {
                let hz = mhz.checked_mul(HZ).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(mhz), &self))?;
                Ok(Mhz { hz })
            }

            fn visit_i64<E: Error>(self, mhz: i64) -> Result<Mhz, E> {
                match u64::try_from(mhz) {
                    Ok(mhz) => self.visit_u64(mhz),
                    Err(_) => Err(E::invalid_value(Unexpected::Signed(mhz), &self)),
                }
            }

            fn visit_f64<E: Error>(self, mhz: f64) -> Result<Mhz, E> {
                Mhz::from_decimal(mhz).ok_or_else(|| E::invalid_value(Unexpected::Float(mhz), &self))
            }
        }

        deserializer.deserialize_any(Number)
    }
}

impl JsonSchema for Mhz {
    fn schema_name() -> Cow<'static, str> {
        "Mhz".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[derive(Serialize, Deserialize)]
    struct File {
        clock_mhz: Mhz,
    }

    /// Reads a clock and shows it in hertz and as serialized, or the error.
    fn check(clock: &str, want: Expect) {
        want.assert_eq(&match toml::from_str::<File>(&format!("clock_mhz = {clock}")) {
            Ok(file) => {
                let text = toml::to_string(&file).expect("a number");
                format!("{} Hz, {}", file.clock_mhz.hz(), text.trim().trim_start_matches("clock_mhz = "))
            }
            Err(error) => error.message().into(),
        });
    }

    #[test]
    fn a_clock_is_exact_to_the_hertz() {
        check("1000", expect!["1000000000 Hz, 1000"]);
        check("1000.0", expect!["1000000000 Hz, 1000"]);
        check("312.5", expect!["312500000 Hz, 312.5"]);
        check("322.265625", expect!["322265625 Hz, 322.265625"]);
        check("99999.999999", expect!["99999999999 Hz, 99999.999999"]);
        check("0", expect!["0 Hz, 0"]);
        let (third, whole) = (Mhz::from_decimal(333.333333), Mhz::from(333));
        assert!(third.is_some_and(|third| third.to_string() == "333.333333" && third > whole));
    }

    #[test]
    fn an_invalid_clock_is_refused() {
        check(
            "312.5000001",
            expect!["invalid value: floating point `312.5000001`, expected a number of MHz with at most six decimals"],
        );
        check(
            "-312.5",
            expect!["invalid value: floating point `-312.5`, expected a number of MHz with at most six decimals"],
        );
        check("-1", expect!["invalid value: integer `-1`, expected a number of MHz with at most six decimals"]);
        check(
            "nan",
            expect!["invalid value: floating point `NaN`, expected a number of MHz with at most six decimals"],
        );
        check(
            "inf",
            expect!["invalid value: floating point `inf`, expected a number of MHz with at most six decimals"],
        );
        check(
            "9223372036854775807",
            expect!["invalid value: integer `9223372036854775807`, expected a number of MHz with at most six decimals"],
        );
        check(
            "'1 GHz'",
            expect![[r#"invalid type: string "1 GHz", expected a number of MHz with at most six decimals"#]],
        );
    }
}
