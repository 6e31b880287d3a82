//! Programs as Motorola S-records: `build/APP.s19`, from which PsPIN's build rules make memory images.
//!
//! A line is a record: `S`, its type, and in hexadecimal the number of bytes that follow, an address, data, and a
//! checksum. The sum of all bytes ends in FF. Types 1, 2 and 3 have data and an address of 2, 3 and 4 bytes; the others
//! have no data to load.
//!
//! Source: the format as objcopy writes it; PsPIN a49fec8, `sw/rules/spin-rt.mk`.

/// Address and data of a record.
pub type Loaded = (u32, Vec<u8>);

/// Returns true if the data looks like S-records.
pub fn is_srec(data: &[u8]) -> bool {
    matches!(data, [b'S', b'0'..=b'9', ..])
}

/// Address and data of each record. The error is the number of a line and its problem.
pub fn read(text: &str) -> Result<Vec<Loaded>, (usize, String)> {
    let mut found = Vec::new();
    for (line, content) in text.lines().enumerate().filter(|(_, content)| !content.trim().is_empty()) {
        let record = record(content.trim()).map_err(|problem| (line + 1, problem))?;
        found.extend(record);
    }
    Ok(found)
}

/// Address and data of a record; `None` for types of records that have no data to load.
fn record(line: &str) -> Result<Option<Loaded>, String> {
    let digits = line.strip_prefix('S').and_then(|rest| Some((rest.chars().next()?, rest.get(1..)?)));
    let (kind, digits) = digits.ok_or("the line is not an S-record; it must begin with S and a digit")?;
    let pairs = digits.as_bytes().chunks(2).map(|pair| match pair {
        [_, _] if pair.iter().all(u8::is_ascii_hexdigit) => u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok(),
        _ => None,
    });
    let bytes: Vec<u8> =
        pairs.collect::<Option<_>>().ok_or("the record must consist of pairs of hexadecimal digits")?;
    let (count, rest) = bytes.split_first().ok_or("the byte count is missing")?;
    if usize::from(*count) != rest.len() {
        return Err(format!("the record has {} bytes, but its count is {count}", rest.len()));
    }
    if bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)) != 0xFF {
        return Err("the checksum is wrong".into());
    }
    let address_bytes = match kind {
        '1'..='3' => kind as usize - '1' as usize + 2,
        '0' | '4'..='9' => return Ok(None),
        _ => return Err(format!("the type is `{kind}`, must be 0 to 9")),
    };
    let data = &rest[..rest.len().saturating_sub(1)];
    let (address, data) = data.split_at_checked(address_bytes).ok_or("the record is too short for its address")?;
    let address = address.iter().fold(0, |address, byte| address << 8 | u32::from(*byte));
    Ok(Some((address, data.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(text: &str, want: Expect) {
        let shown = match read(text) {
            Ok(records) => records.iter().map(|(addr, data)| format!("{addr:#x} {data:02x?}\n")).collect(),
            Err((line, problem)) => format!("line {line}: {problem}"),
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn records_of_all_lengths_have_addresses_and_data() {
        // Records as `objcopy --srec-len 1` writes them, and longer records.
        check(
            "S0030000FC\r\nS3061D0000006F6D\r\nS1060001020304EF\nS7051D0000805D\n",
            expect![[r#"
            0x1d000000 [6f]
            0x1 [02, 03, 04]
        "#]],
        );
    }

    #[test]
    fn invalid_records_are_refused() {
        check("X3", expect!["line 1: the line is not an S-record; it must begin with S and a digit"]);
        check("S3061D0000006F6E", expect!["line 1: the checksum is wrong"]);
        check("S3071D0000006F6D", expect!["line 1: the record has 6 bytes, but its count is 7"]);
        check("S303000AF2", expect!["line 1: the record is too short for its address"]);
        check("S1060001020304 F", expect!["line 1: the record must consist of pairs of hexadecimal digits"]);
        check("S3", expect!["line 1: the byte count is missing"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(S[0-9A-F]{0,20}\n){0,6}") {
            let _ = read(&text);
        }
    }
}
