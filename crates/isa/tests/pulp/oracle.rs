//! An independent model of PULP's instructions, written from the fields of the word, by name, in wide integers.
//!
//! It shares only the names and the order of operands with the rows. Source: PsPIN RTL a49fec8, `riscv_alu.sv`.

/// Address of the instruction.
pub const PC: u32 = 0x1d00_0ffc;
/// The word that memory returns.
pub const MEMORY: u32 = 0x8fa4_c3f1;

/// Effects of an instruction besides register writes.
#[derive(Debug, Default, PartialEq)]
pub struct Effect {
    pub jump: Option<u32>,
    pub access: Option<String>,
    pub loaded: Option<(u8, u32)>,
    pub loops: Vec<String>,
}

/// The word and the registers before execution.
#[derive(Debug)]
pub struct Input {
    word: u32,
    regs: [u32; 32],
    a: u32,
    b: u32,
    d: u32,
}

impl Input {
    pub fn new(word: u32, regs: [u32; 32]) -> Self {
        let at = |bit: u32| regs[(word >> bit & 31) as usize];
        Input { word, regs, a: at(15), b: at(20), d: at(7) }
    }

    fn bits(&self, high: u32, low: u32) -> u32 {
        (u64::from(self.word) >> low & ((1 << (high - low + 1)) - 1)) as u32
    }
}

/// `value` as a signed number of `bits` bits.
fn sign(value: i64, bits: u32) -> i64 {
    let value = value.rem_euclid(1 << bits);
    if value >= 1 << (bits - 1) { value - (1 << bits) } else { value }
}

fn zero(value: i64, bits: u32) -> i64 {
    value.rem_euclid(1 << bits)
}

fn s(value: u32) -> i64 {
    sign(value.into(), 32)
}

fn u(value: u32) -> i64 {
    value.into()
}

/// `value` divided by 2^`n`, rounded down.
fn down(value: i64, n: u32) -> i64 {
    value.div_euclid(1 << n)
}

/// Registers and effect after the instruction.
pub fn expect(name: &str, syntax: &str, g: &Input) -> ([u32; 32], Effect) {
    let (mut regs, mut effect) = (g.regs, Effect::default());
    let (_, rest) = name.split_once('.').unwrap();
    match name {
        _ if name.starts_with("lp.") => hardware_loop(rest, g, &mut effect),
        _ if name.starts_with("pv.") => regs[g.bits(11, 7) as usize] = vector(rest, g),
        "p.beqimm" | "p.bneimm" => {
            if (s(g.a) == sign(g.bits(24, 20).into(), 5)) == (name == "p.beqimm") {
                let distance = g.bits(31, 31) << 12 | g.bits(7, 7) << 11 | g.bits(30, 25) << 5 | g.bits(11, 8) << 1;
                effect.jump = Some((u(PC) + sign(distance.into(), 13)) as u32);
            }
        }
        "p.elw" => access(name, "load", "rd, imm(rs1)", 4, g, &mut regs, &mut effect),
        "p.lb" | "p.lbu" => access(name, "load", syntax, 1, g, &mut regs, &mut effect),
        "p.lh" | "p.lhu" => access(name, "load", syntax, 2, g, &mut regs, &mut effect),
        "p.lw" => access(name, "load", syntax, 4, g, &mut regs, &mut effect),
        "p.sb" | "p.bsb" => access(name, "store", syntax, 1, g, &mut regs, &mut effect),
        "p.sh" | "p.bsh" => access(name, "store", syntax, 2, g, &mut regs, &mut effect),
        "p.sw" | "p.bsw" => access(name, "store", syntax, 4, g, &mut regs, &mut effect),
        _ => regs[g.bits(11, 7) as usize] = scalar(rest, g) as u32,
    }
    (regs, effect)
}

fn access(name: &str, what: &str, syntax: &str, bytes: u32, g: &Input, regs: &mut [u32; 32], effect: &mut Effect) {
    let loads = what == "load";
    let offset = match (syntax.contains("imm"), loads) {
        (true, true) => sign(g.bits(31, 20).into(), 12),
        (true, false) => sign((g.bits(31, 25) << 5 | g.bits(11, 7)).into(), 12),
        (false, true) => s(g.b),
        (false, false) => s(g.d),
    };
    let sum = (u(g.a) + offset) as u32;
    // Stores for a store buffer do not increment, and always add the offset.
    let is_post = syntax.contains('!') && !name.starts_with("p.bs");
    let addr = if is_post { g.a } else { sum };
    if is_post {
        regs[g.bits(19, 15) as usize] = sum;
    }
    if loads {
        effect.access = Some(format!("load {bytes} at {addr:#x}"));
        let value = if name.ends_with('u') { zero(u(MEMORY), 8 * bytes) } else { sign(u(MEMORY), 8 * bytes) };
        regs[g.bits(11, 7) as usize] = value as u32;
    } else {
        effect.access = Some(format!("store {:#x} to {bytes} at {addr:#x}", zero(u(g.b), 8 * bytes)));
    }
}

fn hardware_loop(name: &str, g: &Input, effect: &mut Effect) {
    let (id, constant, end) = (g.bits(7, 7), g.bits(31, 20), g.bits(19, 15));
    let mut set = |part: &str, value: i64| effect.loops.push(format!("{id} {part} {:#x}", value as u32));
    match name {
        "starti" => set("Start", u(PC) + 2 * u(constant)),
        "endi" => set("End", u(PC) + 2 * u(constant)),
        "count" => set("Count", u(g.a)),
        "counti" => set("Count", u(constant)),
        "setup" => {
            set("Start", u(PC) + 4);
            set("End", u(PC) + 2 * u(constant));
            set("Count", u(g.a));
        }
        "setupi" => {
            set("Start", u(PC) + 4);
            set("End", u(PC) + 2 * u(end));
            set("Count", u(constant));
        }
        _ => panic!("lp.{name}"),
    }
}

fn scalar(name: &str, g: &Input) -> i64 {
    let is_shifted = name.contains('N');
    if name == "mac" || name == "msu" {
        let product = s(g.a) * s(g.b);
        return if name == "mac" { s(g.d) + product } else { s(g.d) - product };
    }
    if name.starts_with("mul") || name.starts_with("mac") {
        let half = |value: u32| {
            let half = i64::from(if name.contains("hh") { value >> 16 } else { value & 0xffff });
            if name.replace("hh", "")[3..].starts_with('s') { sign(half, 16) } else { half }
        };
        let start = if name.starts_with("mac") { s(g.d) } else { 0 };
        let shift = if is_shifted { g.bits(29, 25) } else { 0 };
        let is_signed = name.replace("hh", "")[3..].starts_with('s');
        return shifted(start + half(g.a) * half(g.b), shift, name.contains('R'), is_signed);
    }
    if is_shifted {
        let by_register = name.ends_with('r');
        let (x, y) = if by_register { (g.d, g.a) } else { (g.a, g.b) };
        let shift = if by_register { g.b % 32 } else { g.bits(29, 25) };
        let sum = if name.starts_with("add") { u(x) + u(y) } else { u(x) - u(y) };
        return shifted(sum, shift, name.contains('R'), !name[3..].starts_with('u'));
    }
    let by_register = ["extractr", "extractur", "insertr", "bclrr", "bsetr"].contains(&name);
    let (size, offset) = if by_register { (g.b / 32 % 32 + 1, g.b % 32) } else { (g.bits(29, 25) + 1, g.bits(24, 20)) };
    let is_in_field = |bit: u32| bit >= offset && bit < offset + size;
    let choose = |inside: &dyn Fn(u32) -> u32, outside: &dyn Fn(u32) -> u32| {
        (0..32).map(|bit| i64::from(if is_in_field(bit) { inside(bit) } else { outside(bit) }) << bit).sum::<i64>()
    };
    let bit_of = |value: u32, bit: u32| value >> bit & 1;
    let bound = 2i64.pow(g.bits(24, 20)) / 2 - i64::from(g.bits(24, 20) > 0);
    match name {
        "extract" | "extractr" => sign(down(s(g.a), offset), size),
        "extractu" | "extractur" => zero(down(u(g.a), offset), size),
        "insert" | "insertr" => choose(&|bit| bit_of(g.a, bit - offset), &|bit| bit_of(g.d, bit)),
        "bclr" | "bclrr" => choose(&|_| 0, &|bit| bit_of(g.a, bit)),
        "bset" | "bsetr" => choose(&|_| 1, &|bit| bit_of(g.a, bit)),
        "bitrev" => {
            let group = [1, 2, 3, 1][(g.bits(29, 25) % 4) as usize];
            let text = format!("{:032b}", zero(u(g.a) << offset, 32));
            let groups: Vec<_> =
                text.as_bytes().chunks_exact(group).map(|chunk| std::str::from_utf8(chunk).unwrap()).collect();
            i64::from_str_radix(&groups.into_iter().rev().collect::<String>(), 2).unwrap()
        }
        "abs" => s(g.a).abs(),
        "slet" => (s(g.a) <= s(g.b)).into(),
        "sletu" => (g.a <= g.b).into(),
        "min" => s(g.a).min(s(g.b)),
        "minu" => u(g.a).min(u(g.b)),
        "max" => s(g.a).max(s(g.b)),
        "maxu" => u(g.a).max(u(g.b)),
        "ror" => down(u(g.a) << 32 | u(g.a), g.b % 32),
        "ff1" => (0..32).find(|&bit| bit_of(g.a, bit) == 1).unwrap_or(32).into(),
        "fl1" => (0..32).rev().find(|&bit| bit_of(g.a, bit) == 1).unwrap_or(32).into(),
        "clb" if g.a == 0 => 0,
        "clb" => (0..31).rev().take_while(|&bit| bit_of(g.a, bit) == bit_of(g.a, 31)).count() as i64,
        "cnt" => (0..32).map(|bit| i64::from(bit_of(g.a, bit))).sum(),
        "exths" => sign(u(g.a), 16),
        "exthz" => zero(u(g.a), 16),
        "extbs" => sign(u(g.a), 8),
        "extbz" => zero(u(g.a), 8),
        "clip" => clip(s(g.a), -bound - 1, bound),
        "clipu" => clip(s(g.a), 0, bound),
        // The lower bound can exceed the upper one here; the comparison with the lower bound comes first.
        "clipr" => clip(s(g.a), -s(g.b) - 1, s(g.b)),
        "clipur" => clip(s(g.a), 0, s(g.b)),
        _ => panic!("p.{name}"),
    }
}

fn clip(value: i64, least: i64, most: i64) -> i64 {
    if value <= least { least } else { value.min(most) }
}

/// Truncates a sum to 32 bits, with half of the last kept bit added if it is rounded, and shifts it right by `n`.
fn shifted(sum: i64, n: u32, rounds: bool, is_signed: bool) -> i64 {
    let half = if rounds && n > 0 { 1 << (n - 1) } else { 0 };
    let sum = if is_signed { sign(sum + half, 32) } else { zero(sum + half, 32) };
    down(sum, n)
}

/// The lanes of `value`, the lowest first.
fn lanes(value: u32, bits: u32) -> Vec<i64> {
    (0..32 / bits).map(|n| zero(down(u(value), n * bits), bits)).collect()
}

fn word(lanes: &[i64], bits: u32) -> u32 {
    lanes.iter().enumerate().map(|(n, &lane)| zero(lane, bits) << (n as u32 * bits)).sum::<i64>() as u32
}

fn vector(name: &str, g: &Input) -> u32 {
    let parts: Vec<_> = name.split('.').collect();
    let op = parts[0];
    if name == "pack" || name == "pack.h" {
        let shift = if name == "pack" { 0 } else { 16 };
        return word(&[down(u(g.b), shift), down(u(g.a), shift)], 16);
    }
    if op == "cplxmul" || parts.last().unwrap().starts_with("div") || op == "subrotmj" || op == "cplxconj" {
        return complex(&parts, g);
    }
    let bits = if parts.contains(&"b") { 8 } else { 16 };
    let n_lanes = 32 / bits as usize;
    let (a, d) = (lanes(g.a, bits), lanes(g.d, bits));
    let constant = g.bits(24, 20) << 1 | g.bits(25, 25);
    let is_unsigned = ["avgu", "minu", "maxu", "cmpgtu", "cmpgeu", "cmpltu", "cmpleu", "dotup", "sdotup"].contains(&op);
    let b = match (parts.contains(&"sci"), parts.contains(&"sc")) {
        (true, _) if is_unsigned => vec![constant.into(); n_lanes],
        (true, _) => vec![zero(sign(constant.into(), 6), bits); n_lanes],
        (_, true) => vec![lanes(g.b, bits)[0]; n_lanes],
        _ => lanes(g.b, bits),
    };
    let at = constant as usize % n_lanes;
    match op {
        "extract" => return sign(a[at], bits) as u32,
        "extractu" => return a[at] as u32,
        "insert" => {
            let mut into = d;
            into[at] = a[0];
            return word(&into, bits);
        }
        "packhi" => return word(&[d[0], d[1], lanes(g.b, 8)[0], a[0]], 8),
        "packlo" => return word(&[lanes(g.b, 8)[0], a[0], d[2], d[3]], 8),
        "shuffle" if name.contains("sci") => return word(&[a[at % 2], a[constant as usize / 2 % 2]], 16),
        "shuffle" => return word(&b.iter().map(|&n| a[n as usize % n_lanes]).collect::<Vec<_>>(), bits),
        "shuffle2" => {
            let both = [d, a].concat();
            return word(&b.iter().map(|&n| both[n as usize % (2 * n_lanes)]).collect::<Vec<_>>(), bits);
        }
        _ if op.starts_with("shufflei") => {
            let first: i64 = op["shufflei".len()..].parse().unwrap();
            let pick = |n: u32| a[(constant >> (2 * n)) as usize % 4];
            return word(&[pick(0), pick(1), pick(2), a[first as usize]], 8);
        }
        _ if op.contains("dot") => {
            let (signed_a, signed_b) = (op.ends_with("dotsp"), !op.ends_with("dotup"));
            let product = |n: usize| {
                let x = if signed_a { sign(a[n], bits) } else { a[n] };
                x * if signed_b { sign(b[n], bits) } else { b[n] }
            };
            let start = if op.starts_with('s') { u(g.d) } else { 0 };
            return zero(start + (0..n_lanes).map(product).sum::<i64>(), 32) as u32;
        }
        _ => {}
    }
    let each = |n: usize| {
        let (x, y) = (a[n], b[n]);
        let (sx, sy) = (sign(x, bits), sign(y, bits));
        let distance = y as u32 % bits;
        let truth = |holds: bool| if holds { -1 } else { 0 };
        match op {
            "add" => x + y,
            "sub" => x - y,
            "avg" => down(sign(x + y, bits), 1),
            "avgu" => down(zero(x + y, bits), 1),
            "min" => sx.min(sy),
            "minu" => x.min(y),
            "max" => sx.max(sy),
            "maxu" => x.max(y),
            "srl" => down(x, distance),
            "sra" => down(sx, distance),
            "sll" => x << distance,
            "or" => x | y,
            "xor" => x ^ y,
            "and" => x & y,
            "abs" => sx.abs(),
            "cmpeq" => truth(x == y),
            "cmpne" => truth(x != y),
            "cmpgt" => truth(sx > sy),
            "cmpge" => truth(sx >= sy),
            "cmplt" => truth(sx < sy),
            "cmple" => truth(sx <= sy),
            "cmpgtu" => truth(x > y),
            "cmpgeu" => truth(x >= y),
            "cmpltu" => truth(x < y),
            "cmpleu" => truth(x <= y),
            _ => panic!("pv.{name}"),
        }
    };
    word(&(0..n_lanes).map(each).collect::<Vec<_>>(), bits)
}

fn complex(parts: &[&str], g: &Input) -> u32 {
    let halves = |value: u32| (sign(u(value), 16), sign(down(u(value), 16), 16));
    let ((ar, ai), (br, bi), (dr, di)) = (halves(g.a), halves(g.b), halves(g.d));
    let shift = match *parts.last().unwrap() {
        "div2" => 1,
        "div4" => 2,
        "div8" => 3,
        _ => 0,
    };
    let (re, im) = match (parts[0], parts.get(2)) {
        ("cplxmul", Some(&"r")) => (down(sign(ar * br - ai * bi, 32), 15 + shift), di),
        ("cplxmul", Some(&"i")) => (dr, down(sign(ar * bi + ai * br, 32), 15 + shift)),
        ("cplxconj", _) => (ar, -ai),
        ("subrotmj", _) => (down(sign(ai - bi, 16), shift), down(sign(br - ar, 16), shift)),
        ("add", _) => (down(sign(ar + br, 16), shift), down(sign(ai + bi, 16), shift)),
        ("sub", _) => (down(sign(ar - br, 16), shift), down(sign(ai - bi, 16), shift)),
        _ => panic!("pv.{}", parts.join(".")),
    };
    word(&[re, im], 16)
}
