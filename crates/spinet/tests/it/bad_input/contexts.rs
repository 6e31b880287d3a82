//! Contexts, tenants, and changes of them during a run.

use super::{check, check_context};
use expect_test::{Expect, expect};

#[test]
fn contexts() {
    check_context(
        "match = 'udp.dst_prt == 5'",
        expect![[r#"
        t.toml: line 4: context[0].match: unknown name `udp.dst_prt`; did you mean `udp.dst_port`?
          udp.dst_prt == 5
          ^^^^^^^^^^^"#]],
    );
    check_context(
        "message = 'by flow until'",
        expect![[r#"
        t.toml: line 4: context[0].message: the expression is empty; write for example `udp.dst_port == 9999`
          by flow until
                       ^"#]],
    );
    check_context(
        "handler = 'ecko'",
        expect![
            "t.toml: line 4: context `ecko`: nic.elf: handler is `ecko`, must be one of the program's: a function `ecko_hh`, `ecko_ph` or `ecko_th`; did you mean `echo`?"
        ],
    );
    check_context(
        "",
        expect![
            "t.toml: line 3: context[0]: nic.elf: it has several handlers, `handler` must name one of echo, store, loop, tally"
        ],
    );
    check_context(
        "payload = 'echo'",
        expect![
            "t.toml: line 3: context[0]: nic.elf: payload is `echo`, must be a function of the program; it has _start, echo_ph, store_hh, store_ph, store_th, loop_ph, tally_ph, tally_th"
        ],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = { data = 'none.bin' }",
        expect!["t.toml: line 5: context[0].handler_memory: none.bin: No such file or directory (os error 2)"],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = 'none.bin'",
        expect!["t.toml: line 5: context[0].handler_memory: none.bin: No such file or directory (os error 2)"],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = 7",
        expect![[r#"
            t.toml: line 5: found the number 7, must be a table or a text such as `table.bin`
              handler_memory = 7
                               ^"#]],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = { size = 4, data = 'nic.elf' }",
        expect!["t.toml: line 5: context `echo`: nic.elf has more than the 4 bytes of its handler memory"],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = { addr = 0 }",
        expect![
            "t.toml: line 5: context `echo`: handler memory is at 0x0 to 0xfffff, must be within 0x1c000000 to 0x1c3fffff"
        ],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = { addr = '0x0' }",
        expect![
            "t.toml: line 5: context `echo`: handler memory is at 0x0 to 0xfffff, must be within 0x1c000000 to 0x1c3fffff"
        ],
    );
    check_context("handler = 'echo'\nhost_memory = { addr = '0xffff_ffff_ffff_ff00', size = 64 }", expect!["no error"]);
    check_context(
        "handler = 'echo'\nhandler_memory = { addr = '1c300000' }",
        expect![[r#"
        t.toml: line 5: found the text "1c300000", must be an address: a number from 0 to 2^64 - 1, or a text such as "0x1c300000"
          handler_memory = { addr = '1c300000' }
                                    ^^^^^^^^^^"#]],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = { addr = -1 }",
        expect![[r#"
        t.toml: line 5: found the number -1, must be an address: a number from 0 to 2^64 - 1, or a text such as "0x1c300000"
          handler_memory = { addr = -1 }
                                    ^^"#]],
    );
    check_context(
        "handler = 'echo'\nhandler_memory = { size = 0xffffffff }",
        expect!["t.toml: line 5: context `echo`: handler memory needs 4294967295 bytes, 1048576 are left"],
    );
    check_context("handler = 'echo'\nhost_memory = { addr = 0x7fff_ffff_ffff_ffff, size = 1 }", expect!["no error"]);
    check_context(
        "handler = 'echo'\nscratchpad_bytes = 10_000_000",
        expect!["t.toml: line 5: context `echo`: scratchpad needs 10000000 bytes, 965632 are left"],
    );
    let two = |memory: &str| {
        format!("name = 'a'\nhandler = 'echo'\n{memory}\n[[context]]\nname = 'b'\nhandler = 'store'\n{memory}")
    };
    check_context(
        &two("handler_memory = { addr = 0x1c300000, size = 64 }"),
        expect!["t.toml: line 10: context `a` and context `b`: handler memory overlaps at 0x1c300000, must be apart"],
    );
    let beside = |at: &str| {
        format!(
            "name = 'a'\nhandler = 'echo'\nhandler_memory = {{ addr = 0x1c300000, size = 5 }}\n[[context]]\nname = 'b'\n\
             handler = 'store'\nhandler_memory = {{ {at} }}"
        )
    };
    check_context(
        &beside("addr = 0x1c300005, size = 3"),
        expect![
            "t.toml: line 10: context `a` and context `b`: the word at 0x1c300004 is handler memory of both, must be of one: memory is protected by words of 4 bytes"
        ],
    );
    check_context(&beside("addr = 0x1c300005, size = 0"), expect!["no error"]);
    check_context(&beside("addr = 0x1c300008, size = 3"), expect!["no error"]);
    check_context(
        &two("host_memory = { addr = 0x1000, size = 64 }"),
        expect!["t.toml: line 10: context `a` and context `b`: host memory overlaps at 0x1000, must be apart"],
    );
    check_context(
        "name = 'a'\nhandler = 'echo'\n[[context]]\nname = 'a'\nhandler = 'echo'",
        expect!["t.toml: line 7: context[1].name: `a` is the name of two contexts, each must have its own"],
    );
}

#[test]
fn what_would_be_mistaken_for_something_else() {
    let at = |place: &str| {
        format!("program = 'data.elf'\ntraffic = 'udp'\n[[context]]\nhandler = 'echo'\nhandler_memory = {{ {place} }}")
    };
    check(
        &at("addr = 0x1c000000, size = 128"),
        expect![
            "t.toml: line 5: context `echo`: handler memory overlaps static data of a program at 0x1c000040, must be apart"
        ],
    );
    check(&at("addr = 0x1c000000, size = 64"), expect!["no error"]);
    check_context(
        "handler = 'echo'\n[[context]]\nhandler = 'echo'\n[[context]]\nname = 'context 1'\nhandler = 'store'",
        expect![
            "t.toml: line 5: `context 1` is the name of one context, and the default name of another, must be unique: choose another name, or name the other context"
        ],
    );
}

#[test]
fn deliveries() {
    check_context(
        "delivery = { early_packets = 0 }",
        expect!["t.toml: line 4: context[0].delivery: delivery.early_packets is 0, must be 1 to 65536"],
    );
    check_context(
        "delivery = { when_full = 'burn' }",
        expect![[r#"
        t.toml: line 4: unknown variant `burn`, expected one of `stall`, `drop`, `mark_ecn`, `kill_message`
          delivery = { when_full = 'burn' }
                                   ^^^^^^"#]],
    );
    check_context(
        "message = 'by flow from tcpp until udp'",
        expect![[r#"
        t.toml: line 4: context[0].message: unknown name `tcpp`; did you mean `tcp`?
          by flow from tcpp until udp
                       ^^^^"#]],
    );
}

#[test]
fn tenants_and_what_is_done_to_them() {
    let check_lines = |lines: &str, want: Expect| {
        check(&format!("program = 'nic.elf'\ntraffic = 'udp'\n{lines}"), want);
    };
    let context = "[[context]]\nname = 'a'\nhandler = 'echo'\n";
    check_lines(
        "[[context]]\ntenant = 'x'\n",
        expect!["t.toml: line 4: context[0].tenant: there is no tenant `x`, must be the `name` of a [[tenant]]"],
    );
    check_lines(
        &format!("{context}[[tenant]]\nname = 't'\nprogram = 'none.c'\n"),
        expect!["t.toml: line 8: tenant[0].program: none.c: No such file or directory (os error 2)"],
    );
    check_lines(
        &format!("{context}[[tenant]]\nname = 't'\nprogram = 'nic.elf'\n[[tenant]]\nname = 't'\nprogram = 'nic.elf'\n"),
        expect!["t.toml: line 10: tenant[1].name: `t` is the name of two tenants, each must have its own"],
    );
    // Linked for memory that the first program has.
    check_lines(
        &format!("{context}[[tenant]]\nname = 't'\nprogram = 'nic.elf'\n"),
        expect![
            "nic.elf: in program memory it takes 0x1d000080 to 0x1d000433, of which 0x1d000080 is taken; link it at 0x1d000440, where 31680 bytes are free"
        ],
    );
    check_lines(
        &format!("{context}[[tenant]]\nname = 't'\nprogram = 'nic.elf'\nscope = 'udp.port'\n"),
        expect![[r#"
        t.toml: line 9: tenant[0].scope: unknown name `udp.port`, udp has `src_port`, `dst_port`, `len`, `checksum`, `payload_len`
          udp.port
          ^^^^^^^^"#]],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\n"),
        expect![
            "t.toml: line 6: at[0]: nothing is to be done, must have one or more of `install`, `remove`, `write`, `read`"
        ],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\nremove = {{ context = 'b', messages = 'end' }}\n"),
        expect![
            "t.toml: line 8: at[0].remove: there is no context `b`, must be the `name` of a [[context]], or the `handler` of the only one that has no name"
        ],
    );
    check_context(
        "handler = 'echo'\n[[at]]\ntime = '1 us'\ninstall = { context = 'echo' }",
        expect!["t.toml: line 7: at[0].install: the rule of `echo` is installed already"],
    );
    check_context(
        "handler = 'echo'\nmatch = 'udp'\n[[context]]\nhandler = 'echo'\n[[at]]\ntime = '1 us'\ninstall = { context = 'echo' }",
        expect![
            "t.toml: line 10: at[0].install: there is no context `echo`, must be the `name` of a [[context]], or the `handler` of the only one that has no name"
        ],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\nremove = {{ context = 'a', messages = 'stop' }}\n"),
        expect![[r#"
            t.toml: line 8: unknown variant `stop`, expected `end` or `kill`
              remove = { context = 'a', messages = 'stop' }
                                                   ^^^^^^"#]],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\ninstall = {{ context = 'a' }}\n"),
        expect!["t.toml: line 8: at[0].install: the rule of `a` is installed already"],
    );
    check_lines(
        &format!("{context}installed = false\n[[at]]\ntime = '1 us'\nremove = {{ context = 'a', messages = 'end' }}\n"),
        expect!["t.toml: line 9: at[0].remove: the rule of `a` is not installed"],
    );
    check_lines(
        &format!("{context}message = 'by flow last'\npriority = 1\n"),
        expect![
            "t.toml: line 6: context[0].message: `last` cannot be known with contexts that come and go, have priorities, or belong to tenants with a scope; say what ends a message"
        ],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\nwrite = {{ context = 'a', data = 'none.bin' }}\n"),
        expect!["t.toml: line 8: at[0].write: none.bin: No such file or directory (os error 2)"],
    );
    check_lines(
        &format!("{context}[[at]]\ntime = '1 us'\nread = {{ context = 'a', offset = 1048570, size = 8 }}\n"),
        expect!["t.toml: line 8: at 1 us: 1048578 bytes of the handler memory of `a` are named, it has 1048576"],
    );
}
