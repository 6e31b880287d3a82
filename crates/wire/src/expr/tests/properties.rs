//! Random expressions and damaged ones.

use super::super::{Layers, Matcher, ast};
use super::{tcp, udp};
use proptest::prelude::*;

/// Texts of expressions of every form.
fn exprs() -> impl Strategy<Value = String> {
    let test = prop::sample::select(vec![
        "udp",
        "ipv4",
        "tcp.flags.syn",
        "true",
        "false",
        "udp.dst_port == 9999",
        "udp.dst_port != 0x35",
        "ipv4.src in 10.0.0.0/8",
        "ipv6.dst in {::1, 2001:db8::/32}",
        "eth.src == 02:00:00:00:00:01",
        "bytes[0:2] == \"\\x02\\x00\"",
        "len >= 48",
        "tcp.dst_port in 1..65535",
        "udp.payload[0:1] < 0x69",
    ]);
    test.prop_map(String::from).prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|e| format!("!({e})")),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|es| format!("({})", es.join(" && "))),
            prop::collection::vec(inner, 1..4).prop_map(|es| format!("({})", es.join(" or "))),
        ]
    })
}

proptest! {
    #[test]
    fn canonical_text_means_the_same(text in exprs()) {
        let matcher = Matcher::parse(&text).unwrap();
        let again = Matcher::parse(&matcher.to_string()).unwrap();
        prop_assert_eq!(&again, &matcher);
        prop_assert_eq!(again.to_string(), matcher.to_string());
        for packet in [udp(), tcp()] {
            prop_assert_eq!(matcher.matches(&packet), evaluate(&matcher.expr, &packet));
        }
    }

    #[test]
    fn broken_text_is_an_error_that_can_be_shown(
        text in exprs(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<char>()), 1..4),
    ) {
        let mut chars: Vec<char> = text.chars().collect();
        for (index, c) in edits {
            let at = index.index(chars.len());
            chars[at] = c;
        }
        if let Err(error) = Matcher::parse(&chars.iter().collect::<String>()) {
            prop_assert!(error.span.end <= error.text.len());
            prop_assert_eq!(error.to_string().lines().count(), if error.text.trim().is_empty() { 1 } else { 3 });
        }
    }

    #[test]
    fn any_text_is_read_without_harm(text in "[a-z0-9.:/\\[\\]{}()!&|=<> \"\\\\]{0,60}") {
        let _ = Matcher::parse(&text);
    }
}

/// Evaluates the tree directly, for comparison with the program.
fn evaluate(expr: &ast::Expr, packet: &[u8]) -> bool {
    use ast::{Expr, Op};
    let layers = Layers::parse(packet);
    match expr {
        Expr::Constant(value) => *value,
        Expr::Present(layer) => layers.has(*layer),
        Expr::Flag(field) => field.value(packet, &layers) == Some(1),
        Expr::Not(inner) => !evaluate(inner, packet),
        Expr::All(members) => members.iter().all(|m| evaluate(m, packet)),
        Expr::Any(members) => members.iter().any(|m| evaluate(m, packet)),
        Expr::Compare { field, op, value } => field.value(packet, &layers).is_some_and(|found| match op {
            Op::Eq => found == value.bits,
            Op::Ne => found != value.bits,
            Op::Lt => found < value.bits,
            Op::Le => found <= value.bits,
            Op::Gt => found > value.bits,
            Op::Ge => found >= value.bits,
        }),
        Expr::In { field, items } => field.value(packet, &layers).is_some_and(|found| {
            items.iter().any(|item| {
                let (low, high) = item.bounds(field.kind());
                low <= found && found <= high
            })
        }),
    }
}
