//! Extensions, and the instruction set of a core: the extensions that it has.

use super::Row;
use super::decode::{Inst, decode, illegal};
use std::fmt;
use std::str::FromStr;

macro_rules! extensions {
    ($($(#[doc = $doc:literal])+ $extension:ident $name:literal)*) => {
        /// A group of instructions that a core has or lacks as a whole. Each row of the table belongs to one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Extension {
            $($(#[doc = $doc])+ $extension,)*
        }

        impl Extension {
            /// All extensions, in the order of a name such as `rv32imac_zicsr`.
            pub const ALL: &[Extension] = &[$(Extension::$extension),*];

            /// Its name, in lower case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Extension::$extension => $name,)*
                }
            }

            /// Its instructions, in one sentence.
            pub fn description(self) -> &'static str {
                match self {
                    $(Extension::$extension => concat!($($doc),+).trim_ascii_start(),)*
                }
            }
        }
    };
}

// Single letters first, then the others in the order of the standard. U chapter 27.
extensions! {
    /// Base: integer arithmetic, loads, stores, branches, `fence`, `ecall`, `ebreak`.
    I "i"
    /// Multiplication and division.
    M "m"
    /// Atomic memory operations.
    A "a"
    /// Compressed instructions of 16 bits.
    C "c"
    /// Access to control and status registers.
    Zicsr "zicsr"
    /// `fence.i`.
    Zifencei "zifencei"
    /// Machine and user mode: `mret`, `uret`, `wfi`.
    Sm "sm"
    /// PULP's extensions: post-increment, hardware loops, bit manipulation, multiply-accumulate, packed SIMD.
    Xpulpv2 "xpulpv2"
}

/// The instruction set of a core: the base I, and any of the other extensions.
///
/// Its name has the form of the standard, such as `rv32imac_zicsr_zifencei_sm`. Extensions imply no others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Isa {
    /// One bit for each extension, at its position in the enumeration.
    extensions: u16,
}

/// An error in the name of an [`Isa`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownIsa {
    /// The text.
    pub found: String,
    /// The part that is not an extension, or a repeated one.
    pub part: String,
}

impl fmt::Display for UnknownIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (letters, words): (Vec<_>, Vec<_>) = Isa::optional().map(Extension::name).partition(|name| name.len() == 1);
        let (letters, words) = (letters.concat(), words.join(", "));
        write!(f, "isa is `{}`: unexpected `{}`; ", self.found, self.part)?;
        write!(f, "allowed is `rv32i`, then any of the letters `{letters}`, then any of {words}, each after a `_`")
    }
}

impl std::error::Error for UnknownIsa {}

impl Isa {
    /// RV32I with control registers and machine mode.
    pub const RV32I: Isa = Isa::of(&[Extension::Zicsr, Extension::Zifencei, Extension::Sm]);
    /// RV32IMAC with control registers, machine and user mode.
    pub const RV32IMAC: Isa = Isa::RV32I.with(&[Extension::M, Extension::A, Extension::C]);
    /// The same with PULP's extensions: PsPIN's cores.
    pub const RV32IMAC_XPULPV2: Isa = Isa::RV32IMAC.with(&[Extension::Xpulpv2]);

    /// The base with these extensions.
    pub const fn of(extensions: &[Extension]) -> Isa {
        Isa { extensions: 1 << Extension::I as u16 }.with(extensions)
    }

    /// The same with these extensions added.
    pub const fn with(mut self, extensions: &[Extension]) -> Isa {
        let mut i = 0;
        while i < extensions.len() {
            self.extensions |= 1 << extensions[i] as u16;
            i += 1;
        }
        self
    }

    /// Returns true if the core has the extension.
    pub const fn has(self, extension: Extension) -> bool {
        self.extensions >> extension as u16 & 1 != 0
    }

    /// As [`decode()`], but an instruction of an extension that this set lacks is illegal.
    pub fn decode(self, word: u32) -> Inst {
        let inst = decode(word);
        if inst.row().is_some_and(|row| self.includes(row)) { inst } else { illegal(word) }
    }

    /// Returns true if the core has the row's extension and, for a compressed row, that of its 32-bit equivalent.
    fn includes(self, row: &Row) -> bool {
        let base = super::table::BASE.get(row.op as usize);
        self.has(row.extension) && base.is_some_and(|base| self.has(base.extension))
    }

    /// The extensions that a core may lack.
    fn optional() -> impl Iterator<Item = Extension> {
        Extension::ALL.iter().copied().filter(|&extension| extension != Extension::I)
    }
}

impl Default for Isa {
    /// [`Isa::RV32IMAC`].
    fn default() -> Isa {
        Isa::RV32IMAC
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rv32")?;
        for extension in Extension::ALL.iter().filter(|&&extension| self.has(extension)) {
            let name = extension.name();
            write!(f, "{}{name}", if name.len() > 1 { "_" } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Isa {
    type Err = UnknownIsa;

    fn from_str(text: &str) -> Result<Self, UnknownIsa> {
        let unknown = |part: &str| UnknownIsa { found: text.into(), part: part.into() };
        let rest = text.strip_prefix("rv32i").ok_or_else(|| unknown(text))?;
        let (letters, words) = rest.split_once('_').map_or((rest, None), |(letters, words)| (letters, Some(words)));
        let letters = letters.char_indices().map(|(at, letter)| &letters[at..at + letter.len_utf8()]);
        let mut isa = Isa::of(&[]);
        for part in letters.chain(words.into_iter().flat_map(|words| words.split('_'))) {
            let extension = Isa::optional().find(|extension| extension.name() == part);
            match extension.filter(|&extension| !isa.has(extension)) {
                Some(extension) => isa = isa.with(&[extension]),
                None => return Err(unknown(part)),
            }
        }
        Ok(isa)
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::P_ONE;
    use super::super::{Op, rows};
    use super::*;
    use crate::pattern::Pattern;
    use expect_test::expect;

    /// Tries every row of the table on cores that lack one extension.
    #[test]
    fn a_row_is_legal_only_with_its_extension() {
        for row in rows() {
            let words = (0..).map(|noise: u32| row.pattern.value | noise.wrapping_mul(0x0842_1085) & !row.pattern.mask);
            let word = words.take(1000).find(|&word| row.matches(word)).expect("a row has words");
            let needed = [row.extension, super::super::table::BASE[row.op as usize].extension];
            for &lacking in Extension::ALL.iter().filter(|&&extension| extension != Extension::I) {
                let others: Vec<_> = Isa::optional().filter(|&extension| extension != lacking).collect();
                let found = Isa::of(&others).decode(word);
                let expected = if needed.contains(&lacking) { illegal(word) } else { decode(word) };
                assert_eq!(found, expected, "{} on a core without {}", row.name, lacking.name());
            }
            assert_eq!(Isa::of(&needed).decode(word), decode(word), "{}", row.name);
        }
    }

    /// Adds one row to each extension. The cores: PANIC's units, `spinet exec` by default, and PsPIN.
    #[test]
    fn a_new_row_is_legal_only_on_cores_with_its_extension() {
        let cores = [("panic", Isa::RV32I), ("exec", Isa::default()), ("pspin", Isa::RV32IMAC_XPULPV2)];
        let takers = |extension: &Extension| {
            let pattern = Pattern::parse("0110101 11000 ..... 101 ..... 0010011"); // rev8, of Zbb.
            let new = Row { name: "rev8", format: P_ONE, pattern, except: &[], extension: *extension, op: Op::Addi };
            let takers: Vec<_> = cores.iter().filter(|(_, isa)| isa.includes(&new)).map(|(core, _)| *core).collect();
            format!("{}: {}\n", extension.name(), takers.join(" "))
        };
        expect![[r#"
            i: panic exec pspin
            m: exec pspin
            a: exec pspin
            c: exec pspin
            zicsr: panic exec pspin
            zifencei: panic exec pspin
            sm: panic exec pspin
            xpulpv2: pspin
        "#]]
        .assert_eq(&Extension::ALL.iter().map(takers).collect::<String>());
    }

    /// The help of `spinet exec` lists each optional extension by name, one a line.
    #[test]
    fn the_help_of_exec_lists_every_extension() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/spinet/cli/exec_command.py");
        let command = std::fs::read_to_string(path).expect("the command's source");
        let (_, help) = command.split_once("Extensions of --isa").expect("the help has a list of extensions");
        let lines = help.lines().skip(1).take_while(|line| line.starts_with("      "));
        let listed: Vec<_> = lines.filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(listed, Isa::optional().map(Extension::name).collect::<Vec<_>>());
    }

    #[test]
    fn an_instruction_of_another_set_is_illegal() {
        let legal = |isa: Isa, word| isa.decode(word).op != Op::Illegal;
        let (p_elw, add, mul, c_nop, csrr) = (0x0006_6503, 0x00c5_8533, 0x02c5_8533, 0x0001, 0x3000_2573);
        let by_set = |isa: Isa| [p_elw, add, mul, c_nop, csrr].map(|word| legal(isa, word));
        assert_eq!(by_set(Isa::RV32IMAC_XPULPV2), [true; 5]);
        assert_eq!(by_set(Isa::RV32IMAC), [false, true, true, true, true]);
        assert_eq!(by_set(Isa::RV32I), [false, true, false, false, true]);
        assert_eq!(by_set(Isa::of(&[])), [false, true, false, false, false]);
        let found = Isa::RV32IMAC.decode(p_elw);
        assert_eq!((found.imm as u32, found.bytes()), (p_elw, 4));
    }

    #[test]
    fn a_set_is_named_by_its_extensions() {
        let check = |text: &str| text.parse::<Isa>().map_or_else(|e| e.to_string(), |isa| isa.to_string());
        for isa in [Isa::of(&[]), Isa::RV32I, Isa::RV32IMAC, Isa::RV32IMAC_XPULPV2] {
            assert_eq!(isa.to_string().parse(), Ok(isa));
        }
        assert_eq!(Isa::RV32IMAC.to_string(), "rv32imac_zicsr_zifencei_sm");
        assert_eq!(check("rv32icm_xpulpv2_zicsr"), "rv32imc_zicsr_xpulpv2");
        let allowed = "allowed is `rv32i`, then any of the letters `mac`, \
            then any of zicsr, zifencei, sm, xpulpv2, each after a `_`";
        let refused =
            [("rv64gc", "rv64gc"), ("rv32imf", "f"), ("rv32imm", "m"), ("rv32i_zic", "zic"), ("rv32i_", ""), ("", "")];
        for (text, part) in refused {
            assert_eq!(check(text), format!("isa is `{text}`: unexpected `{part}`; {allowed}"));
        }
    }
}
