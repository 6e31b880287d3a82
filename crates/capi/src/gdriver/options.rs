//! The command line of the generic driver, as in PsPIN's `gengetopt` description.
//!
//! Source: PsPIN a49fec8, `examples/generic_driver/gdriver_args.ggo`; the syntax is that of getopt_long.

/// Options of the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Messages per context.
    pub num_messages: u32,
    /// Packets per message.
    pub num_packets: u32,
    /// Packet size, in bytes.
    pub packet_size: u32,
    /// Cycles between packets.
    pub packet_delay: u32,
    /// Cycles from the last packet of a message to the next packet.
    pub message_delay: u32,
    /// Trace file that replaces the generated packets.
    pub trace_file: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            num_messages: 1,
            num_packets: 32,
            packet_size: 1024,
            packet_delay: 20,
            message_delay: 40,
            trace_file: None,
        }
    }
}

/// Action of the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    Run(Options),
    /// Print a text and end with success.
    Print(&'static str),
}

/// Short name, long name, and true if the option has a value.
const OPTIONS: [(char, &str, bool); 8] = [
    ('h', "help", false),
    ('V', "version", false),
    ('m', "num-messages", true),
    ('p', "num-packets", true),
    ('s', "packet-size", true),
    ('d', "packet-delay", true),
    ('l', "message-delay", true),
    ('t', "trace-file", true),
];

/// Trace file name that means none.
const NO_TRACE: &str = "NULL";

pub const VERSION: &str = "Generic simulation driver 1.0\n";
pub const HELP: &str = "Generic simulation driver 1.0

Usage: [OPTION]...

  -h, --help               Print help and exit
  -V, --version            Print version and exit
  -m, --num-messages=INT   Messages of each execution context  (default=`1')
  -p, --num-packets=INT    Packets of each message  (default=`32')
  -s, --packet-size=INT    Bytes of a packet  (default=`1024')
  -d, --packet-delay=INT   Cycles (ns) from a packet to the next  (default=`20')
  -l, --message-delay=INT  Cycles (ns) from a message to the next  (default=`40')
  -t, --trace-file=STRING  Packets come from this trace  (default=`NULL': none)
";

/// Parses the arguments after the program's name. Arguments that are not options are left to the program.
pub fn parse(arguments: &[String]) -> Result<Action, String> {
    let mut options = Options::default();
    let mut seen = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            break;
        }
        let (name, mut value) = match argument.strip_prefix("--") {
            Some(long) => {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                (find_long(name)?, value)
            }
            None => match short(argument) {
                Some((letter, value)) => (find_short(letter)?, value),
                None => continue,
            },
        };
        let (_, long, has_value) = OPTIONS[name];
        match (has_value, value) {
            (true, None) => value = Some(rest.next().ok_or_else(|| format!("--{long} needs a value"))?),
            (false, Some(_)) => return Err(format!("--{long} does not take a value")),
            _ => {}
        }
        if has_value && seen.contains(&name) {
            return Err(format!("--{long} appears more than once"));
        }
        seen.push(name);
        let value = value.unwrap_or_default();
        match long {
            "help" => return Ok(Action::Print(HELP)),
            "version" => return Ok(Action::Print(VERSION)),
            "num-messages" => options.num_messages = number(long, value)?,
            "num-packets" => options.num_packets = number(long, value)?,
            "packet-size" => options.packet_size = number(long, value)?,
            "packet-delay" => options.packet_delay = number(long, value)?,
            "message-delay" => options.message_delay = number(long, value)?,
            _ => options.trace_file = (value != NO_TRACE).then(|| value.to_owned()),
        }
    }
    Ok(Action::Run(options))
}

/// The letter of `-m` or `-m4`, and the text after it.
fn short(argument: &str) -> Option<(char, Option<&str>)> {
    let mut letters = argument.strip_prefix('-')?.chars();
    let letter = letters.next()?;
    Some((letter, Some(letters.as_str()).filter(|value| !value.is_empty())))
}

fn find_short(letter: char) -> Result<usize, String> {
    let found = OPTIONS.iter().position(|&(short, ..)| short == letter);
    found.ok_or_else(|| format!("unknown option -{letter}; --help lists the options"))
}

/// A long name may be abbreviated if the abbreviation is unique.
fn find_long(name: &str) -> Result<usize, String> {
    if let Some(exact) = OPTIONS.iter().position(|&(_, long, _)| long == name) {
        return Ok(exact);
    }
    let near: Vec<usize> = (0..OPTIONS.len()).filter(|&i| OPTIONS[i].1.starts_with(name)).collect();
    match near[..] {
        [only] => Ok(only),
        [] => Err(format!("unknown option --{name}; --help lists the options")),
        _ => Err(format!(
            "--{name} is ambiguous: it may be {}",
            near.iter().map(|&i| OPTIONS[i].1).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// Parses a number like C's strtol: decimal, 0x hexadecimal, 0 octal.
fn number(long: &str, text: &str) -> Result<u32, String> {
    let digits = text.trim_start();
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let (digits, radix) = match (digits.strip_prefix("0x").or(digits.strip_prefix("0X")), digits.strip_prefix('0')) {
        (Some(hex), _) => (hex, 16),
        (None, Some(octal)) if !octal.is_empty() => (octal, 8),
        _ => (digits, 10),
    };
    // from_str_radix would accept a second sign.
    let value = if digits.starts_with(['+', '-']) { None } else { i32::from_str_radix(digits, radix).ok() };
    value
        .map(i32::cast_unsigned)
        .ok_or_else(|| format!("--{long} is `{text}`, must be a number from 0 to {}", i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(line: &str, want: Expect) {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let shown = match parse(&arguments) {
            Ok(Action::Run(o)) => format!(
                "{} messages of {} packets of {} bytes, {} and {} cycles apart, trace {:?}",
                o.num_messages, o.num_packets, o.packet_size, o.packet_delay, o.message_delay, o.trace_file
            ),
            Ok(Action::Print(text)) => text.lines().next().unwrap_or_default().to_owned(),
            Err(problem) => problem,
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn values_are_attached_or_separate_arguments() {
        check("", expect!["1 messages of 32 packets of 1024 bytes, 20 and 40 cycles apart, trace None"]);
        check(
            "-m 4 -p2 --packet-size=64 --packet-delay 0x10 --message-d=010 -t NULL",
            expect!["4 messages of 2 packets of 64 bytes, 16 and 8 cycles apart, trace None"],
        );
        check(
            "+trace file -t a.trace -- -m 9",
            expect![[r#"1 messages of 32 packets of 1024 bytes, 20 and 40 cycles apart, trace Some("a.trace")"#]],
        );
        check("-m 4 --version", expect!["Generic simulation driver 1.0"]);
    }

    #[test]
    fn invalid_options_are_refused() {
        check("--num-message", expect!["--num-messages needs a value"]);
        check("--num=4", expect!["--num is ambiguous: it may be num-messages, num-packets"]);
        check("--size 4", expect!["unknown option --size; --help lists the options"]);
        check("-x", expect!["unknown option -x; --help lists the options"]);
        check("-m", expect!["--num-messages needs a value"]);
        check("-m 4 -m 5", expect!["--num-messages appears more than once"]);
        check("-m -1", expect!["--num-messages is `-1`, must be a number from 0 to 2147483647"]);
        check("-m 4k", expect!["--num-messages is `4k`, must be a number from 0 to 2147483647"]);
        check("-m 4294967296", expect!["--num-messages is `4294967296`, must be a number from 0 to 2147483647"]);
        check("--help=1", expect!["--help does not take a value"]);
    }

    proptest! {
        #[test]
        fn any_arguments_are_read_or_refused(arguments in prop::collection::vec("[-+=a-z0-9]{0,12}", 0..6)) {
            let _ = parse(&arguments);
        }
    }
}
