//! Which instructions a core has.

use super::decode::{Inst, decode, illegal};
use std::str::FromStr;

/// The instruction set of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Isa {
    /// RV32IMAC, Zicsr, Zifencei, machine and user mode.
    #[default]
    Rv32imac,
    /// The same with PULP's extensions.
    Rv32imacXpulpv2,
}

/// A name that is no [`Isa`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownIsa {
    /// What was found.
    pub found: String,
}

impl std::fmt::Display for UnknownIsa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = Isa::ALL.map(Isa::name).join("` or `");
        write!(f, "isa is `{}`, must be `{names}`", self.found)
    }
}

impl std::error::Error for UnknownIsa {}

impl Isa {
    /// All there are.
    pub const ALL: [Isa; 2] = [Isa::Rv32imac, Isa::Rv32imacXpulpv2];

    /// Its name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Rv32imac => "rv32imac",
            Isa::Rv32imacXpulpv2 => "rv32imac_xpulpv2",
        }
    }

    /// As [`decode()`], but an instruction that this set lacks is illegal.
    pub fn decode(self, word: u32) -> Inst {
        let inst = decode(word);
        if self == Isa::Rv32imac && inst.op.is_pulp() { illegal(word) } else { inst }
    }
}

impl FromStr for Isa {
    type Err = UnknownIsa;

    fn from_str(name: &str) -> Result<Self, UnknownIsa> {
        Isa::ALL.into_iter().find(|isa| isa.name() == name).ok_or_else(|| UnknownIsa { found: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Op;
    use super::*;

    #[test]
    fn an_instruction_of_another_set_is_illegal() {
        let p_elw = 0x0006_6503;
        let found = Isa::Rv32imac.decode(p_elw);
        assert_eq!((found.op, found.imm as u32, found.bytes()), (Op::Illegal, p_elw, 4));
        assert_eq!(Isa::Rv32imacXpulpv2.decode(p_elw), decode(p_elw));
        assert_eq!(Isa::Rv32imac.decode(0x00c5_8533), decode(0x00c5_8533));
    }

    #[test]
    fn sets_have_names() {
        assert!(Isa::ALL.into_iter().all(|isa| isa.name().parse() == Ok(isa)));
        let refused = "rv64gc".parse::<Isa>().map_err(|e| e.to_string());
        assert_eq!(refused, Err("isa is `rv64gc`, must be `rv32imac` or `rv32imac_xpulpv2`".into()));
    }
}
