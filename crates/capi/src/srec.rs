//! Programs as Motorola S-records: `build/APP.s19`, from which PsPIN's build rules make memory images.
//!
//! A line a record: `S`, its kind, and in hexadecimal the bytes that follow, an address, data, and a checksum that makes the sum
//! of all bytes end in FF. Kinds 1, 2 and 3 have data behind an address of 2, 3 and 4 bytes; the others have none to load.
//!
//! Source: the format as objcopy writes it; PsPIN a49fec8, `sw/rules/spin-rt.mk`.

/// What a record loads, and where.
pub type Loaded = (u32, Vec<u8>);

/// Whether a file looks like S-records.
pub fn is_srec(data: &[u8]) -> bool {
    matches!(data, [b'S', b'0'..=b'9', ..])
}

/// Address and data of each record; an error is the number of a line and what is wrong there.
pub fn read(text: &str) -> Result<Vec<Loaded>, (usize, String)> {
    let mut found = Vec::new();
    for (line, content) in text.lines().enumerate().filter(|(_, content)| !content.trim().is_empty()) {
        let record = record(content.trim()).map_err(|problem| (line + 1, problem))?;
        found.extend(record);
    }
    Ok(found)
}

/// What a record loads.
fn record(line: &str) -> Result<Option<Loaded>, String> {
    let digits = line.strip_prefix('S').and_then(|rest| Some((rest.chars().next()?, rest.get(1..)?)));
    let (kind, digits) = digits.ok_or("it begins with no S and digit, must be an S-record")?;
    let pairs = digits.as_bytes().chunks(2).map(|pair| match pair {
        [_, _] if pair.iter().all(u8::is_ascii_hexdigit) => u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok(),
        _ => None,
    });
    let bytes: Vec<u8> =
        pairs.collect::<Option<_>>().ok_or("it has something other than pairs of hexadecimal digits")?;
    let (count, rest) = bytes.split_first().ok_or("it has no count of bytes")?;
    if usize::from(*count) != rest.len() {
        return Err(format!("it has {} bytes, must have {count} as it says", rest.len()));
    }
    if bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)) != 0xFF {
        return Err("its checksum is wrong".into());
    }
    let address_bytes = match kind {
        '1'..='3' => kind as usize - '1' as usize + 2,
        '0' | '4'..='9' => return Ok(None),
        _ => return Err(format!("its kind is `{kind}`, must be 0 to 9")),
    };
    let data = &rest[..rest.len().saturating_sub(1)];
    let (address, data) = data.split_at_checked(address_bytes).ok_or("it is too short for its address")?;
    let address = address.iter().fold(0, |address, byte| address << 8 | u32::from(*byte));
    Ok(Some((address, data.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(text: &str, want: Expect) {
        let said = match read(text) {
            Ok(records) => records.iter().map(|(addr, data)| format!("{addr:#x} {data:02x?}\n")).collect(),
            Err((line, problem)) => format!("line {line}: {problem}"),
        };
        want.assert_eq(&said);
    }

    #[test]
    fn records_of_all_lengths_have_addresses_and_data() {
        // As `objcopy --srec-len 1` has them, and longer ones.
        check(
            "S0030000FC\r\nS3061D0000006F6D\r\nS1060001020304EF\nS7051D0000805D\n",
            expect![[r#"
            0x1d000000 [6f]
            0x1 [02, 03, 04]
        "#]],
        );
    }

    #[test]
    fn what_is_no_record_is_refused() {
        check("X3", expect!["line 1: it begins with no S and digit, must be an S-record"]);
        check("S3061D0000006F6E", expect!["line 1: its checksum is wrong"]);
        check("S3071D0000006F6D", expect!["line 1: it has 6 bytes, must have 7 as it says"]);
        check("S303000AF2", expect!["line 1: it is too short for its address"]);
        check("S1060001020304 F", expect!["line 1: it has something other than pairs of hexadecimal digits"]);
        check("S3", expect!["line 1: it has no count of bytes"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(S[0-9A-F]{0,20}\n){0,6}") {
            let _ = read(&text);
        }
    }
}
