//! Register tests as text.

use blocks::bus::{Access, Data, Reference, Reply, Responder, word};
use kernel::Cycle;
use testkit::Bench;

/// Parses accesses and the cycles in which they are seen: `3 88` reads the register at 0x88, `4 88=7` writes it.
pub fn script(text: &str) -> Vec<(Cycle, Reference)> {
    let one = |(id, line): (usize, &str)| {
        let (cycle, access) = line.trim().split_once(' ').expect("the line must have a cycle and an access");
        let (offset, value) = access.split_once('=').map_or((access, None), |(offset, value)| (offset, Some(value)));
        let number = |digits| u32::from_str_radix(digits, 16).expect("hexadecimal digits");
        let write = |value| Access::Write(Data::from_slice(&number(value).to_be_bytes()));
        let access = value.map_or(Access::Read(4), write);
        (cycle.parse().expect("a cycle"), Reference { id: id as u32, addr: number(offset).into(), access })
    };
    text.split(';').filter(|line| !line.trim().is_empty()).enumerate().map(one).collect()
}

/// A port whose user follows the script and logs the answers.
pub fn port(bench: &mut Bench, name: &str, text: &str) -> Responder {
    let references = bench.input(&format!("{name}?"), 2, script(text));
    let show = |reply: &Reply| match &reply.result {
        Ok(data) if data.is_empty() => format!("{} done", reply.id),
        Ok(data) => format!("{} {:x}", reply.id, word(data)),
        Err(error) => format!("{} {error}", reply.id),
    };
    Responder { references, replies: bench.output(name, 2, |_| true, show) }
}
