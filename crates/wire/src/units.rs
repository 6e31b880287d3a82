//! Rates and ratios in readable form, stored as integers.

/// Smallest number without a unit that means bit/s. A smaller one, such as `400`, probably lacks its suffix.
const LEAST_BARE_BPS: u64 = 1_000_000;

/// Parses a rate such as `400G`, `2.5 Gbit/s`, `10000 bit/s` or `101630434783`, in bit/s (suffix k, M, G or T, powers
/// of 1000).
pub fn parse_bps(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_suffix("bit/s").or(text.strip_suffix("bps")) {
        Some(number) => scaled(number),
        None => scaled(text).filter(|&bps| !is_bare(text) || bps >= LEAST_BARE_BPS),
    }
}

fn is_bare(text: &str) -> bool {
    text.ends_with(|last: char| last.is_ascii_digit())
}

/// Parses a number such as `1.5M` as an integer. Returns `None` if it is not an integer.
pub fn scaled(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, zeros) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 3),
        (at, 'M') => (&text[..at], 6),
        (at, 'G') => (&text[..at], 9),
        (at, 'T') => (&text[..at], 12),
        _ => (text, 0),
    };
    let (numerator, decimals) = decimal(digits.trim())?;
    let zeros = u32::checked_sub(zeros, decimals)?;
    numerator.checked_mul(10u64.checked_pow(zeros)?)
}

/// Digits, and number of decimals, of a number: `2.50` is (250, 2).
fn decimal(text: &str) -> Option<(u64, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    Some((format!("{whole}{fraction}").parse().ok()?, fraction.len() as u32))
}

/// Parses a positive ratio such as `0.5` or `3/2` as numerator and denominator.
pub fn parse_ratio(text: &str) -> Option<(u64, u64)> {
    let (top, bottom) = text.split_once('/').unwrap_or((text, "1"));
    let ((top, top_decimals), (bottom, bottom_decimals)) = (decimal(top.trim())?, decimal(bottom.trim())?);
    let top = top.checked_mul(10u64.checked_pow(bottom_decimals)?)?;
    let bottom = bottom.checked_mul(10u64.checked_pow(top_decimals)?)?;
    (top > 0 && bottom > 0).then_some((top, bottom))
}

/// Writes a number in the form that [`scaled`] parses: `400G`, `2500M`.
pub fn show_scaled(number: u64) -> String {
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match units.into_iter().find(|(unit, _)| number > 0 && number.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", number / unit),
        None => number.to_string(),
    }
}

/// Writes a rate in the form that [`parse_bps`] parses: `400G`, `1500bit/s`.
pub fn show_bps(bps: u64) -> String {
    let text = show_scaled(bps);
    if is_bare(&text) && bps < LEAST_BARE_BPS { text + "bit/s" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact() {
        assert_eq!(parse_bps("400G"), Some(400_000_000_000));
        assert_eq!(parse_bps("2.5 Gbit/s"), Some(2_500_000_000));
        assert_eq!((parse_bps("1000bit/s"), parse_bps("1000001")), (Some(1000), Some(1_000_001)));
        assert_eq!(parse_bps("1.5kbps"), Some(1500));
        for wrong in ["", "G", "-1G", "1.5", "400", "1.5bps", "1.2345k", "1e9", "99999999999T", ".5G"] {
            assert_eq!(parse_bps(wrong), None, "{wrong}");
        }
        assert_eq!((show_bps(400_000_000_000), show_bps(1500)), ("400G".into(), "1500bit/s".into()));
        assert_eq!(show_bps(1_000_001), "1000001");
        assert_eq!((show_bps(2_500_000_000), show_bps(0)), ("2500M".into(), "0bit/s".into()));
    }

    #[test]
    fn ratios_are_exact() {
        assert_eq!(parse_ratio("0.5"), Some((5, 10)));
        assert_eq!(parse_ratio("3/2"), Some((3, 2)));
        assert_eq!(parse_ratio("1.5/0.25"), Some((1500, 250)));
        assert_eq!(parse_ratio("0"), None);
        assert_eq!(parse_ratio("1/0"), None);
    }
}
