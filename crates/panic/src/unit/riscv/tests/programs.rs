//! Random programs compute the same as a hart without timing.

use super::*;

/// The reference: registers and memory only.
struct Plain {
    x: [u32; 32],
    pc: u32,
    next: u32,
    memory: Vec<u8>,
}

impl Plain {
    fn at(&mut self, addr: u32, bytes: u32) -> &mut [u8] {
        let at = (addr - MEMORY_BASE) as usize;
        &mut self.memory[at..at + bytes as usize]
    }
}

impl isa::riscv::Hart for Plain {
    fn x(&self, r: u8) -> u32 {
        self.x[usize::from(r)]
    }
    fn set(&mut self, r: u8, value: u32) {
        self.x[usize::from(r)] = if r == 0 { 0 } else { value };
    }
    fn pc(&self) -> u32 {
        self.pc
    }
    fn jump(&mut self, target: u32) {
        self.next = target;
    }
    fn load(&mut self, rd: u8, addr: u32, load: isa::riscv::Load) {
        let raw = self.at(addr, load.bytes()).iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
        self.set(rd, load.extend(raw));
    }
    fn store(&mut self, addr: u32, value: u32, width: isa::riscv::Width) {
        let bytes = width.bytes();
        self.at(addr, bytes).copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
    }
    fn amo(&mut self, _: u8, _: u32, _: u32, _: isa::riscv::Amo) {
        unreachable!("programs contain none");
    }
    fn advance(&mut self, _: u8, _: u32) {
        unreachable!("programs contain none");
    }
    fn hardware_loop(&mut self, _: u8, _: isa::riscv::LoopPart, _: u32) {
        unreachable!("programs contain none");
    }
    fn csr(&mut self, _: u8, _: u16, _: isa::riscv::CsrWrite, _: bool) {
        unreachable!("programs contain none");
    }
    fn system(&mut self, _: isa::riscv::System) {
        unreachable!("programs contain none");
    }
    fn illegal(&mut self, word: u32) {
        panic!("{word:#x} is not an instruction");
    }
}

/// A program of computations, branches, loads and stores on registers 1 to 9 and 128 bytes at 0x800; at its end it sends all of
/// these.
fn random_program(random: &mut kernel::RandomStream) -> String {
    let mut text = "auipc 20 0 0 0\n".to_owned();
    text += "lui 21 0 0 0x1000\nsrli 21 21 0 1\nadd 20 20 21\n";
    for r in 1..10 {
        text += &format!("lui {r} 0 0 {:#x}\n", (random.below(1 << 20) as u32) << 12);
    }
    let mut register = |most: u64| random.below(most);
    for _ in 0..200 {
        let (rd, rs1, rs2) = (1 + register(9), register(10), register(10));
        let plain = ["add", "sub", "xor", "or", "and", "sll", "srl", "sra", "slt", "sltu"];
        let [immediate, shift] = [register(4096) as i64 - 2048, register(32) as i64];
        text += &match register(8) {
            0 => format!("addi {rd} {rs1} 0 {immediate}\n"),
            1 => format!("srai {rd} {rs1} 0 {shift}\n"),
            2 => format!("{} 0 {rs1} {rs2} 8\n", ["beq", "bne", "blt", "bge", "bltu", "bgeu"][register(6) as usize]),
            3 => format!("lw {rd} 20 0 {}\n", 4 * register(32)),
            4 => format!("{} {rd} 20 0 {}\n", ["lb", "lbu", "lh", "lhu"][register(4) as usize], 2 * register(64)),
            5 => format!("sw 0 20 {rs2} {}\n", 4 * register(32)),
            6 => format!("{} 0 20 {rs2} {}\n", ["sb", "sh"][register(2) as usize], 2 * register(64)),
            _ => format!("{} {rd} {rs1} {rs2}\n", plain[register(10) as usize]),
        };
    }
    text += "add 0 0 0\n"; // A branch may skip the next instruction.
    (0..16).for_each(|r| text += &format!("sw 0 20 {r} {}\n", 128 + 4 * r));
    text + "addi 11 0 0 192\naddi 12 20 0 0\n"
}

#[test]
fn programs_compute_the_same_as_the_reference() {
    let seed = 20260;
    for number in 0..20 {
        let mut random = kernel::RandomStream::new(seed, &format!("program {number}"));
        let text = random_program(&mut random);
        let code = assemble(&text);
        let mut plain = Plain { x: [0; 32], pc: MEMORY_BASE, next: 0, memory: vec![0; 4096] };
        plain.memory[..code.len()].copy_from_slice(&code);
        while plain.pc != MEMORY_BASE + code.len() as u32 {
            let word = plain.at(plain.pc, 4).iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
            plain.next = plain.pc + 4;
            isa::riscv::execute(&mut plain, &isa::riscv::decode(word));
            plain.pc = plain.next;
        }
        let sent = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let whole = format!("{text}lui 10 0 0 0xf0000000\nlw 13 10 0 0\n{SEND}0");
        testkit::bench(20_000, |bench| {
            let bytes = assemble(&whole);
            let size = bytes.len() as u32;
            let segment = Segment { place: "segment 0".into(), addr: MEMORY_BASE, bytes, size };
            let image = Image { segments: vec![segment], entry: MEMORY_BASE, symbols: Vec::new() };
            let program = Program::new(Rc::new(image));
            let sent = sent.clone();
            let note = move |flit: &Flit| {
                if let Flit::Head(message) = flit {
                    sent.borrow_mut().push(message.data.clone());
                }
                String::new()
            };
            let (input, output) = (bench.input("in", 8, flits("100 1 0")), bench.output("out", 2, |_| true, note));
            let sizes = Sizes { flit_bytes: 64, longest: 256, n_services: 2 };
            let params = RiscvParams { watchdog_cycles: 5000, ..params() };
            bench.add("it", RiscvUnit::new(params, program, sizes, input, output));
        });
        let expected = plain.at(MEMORY_BASE + 0x800, 192).to_vec();
        assert!(sent.borrow().iter().all(|found| *found == expected), "seed {seed}, program {number}:\n{text}");
        assert!(!sent.borrow().is_empty(), "seed {seed}, program {number} sends");
    }
}
