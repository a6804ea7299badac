//! Durations on the command line.

use std::time::Duration;

const EXPECTED: &str = "expected seconds, a number with ms, s, m or h, or hh:mm:ss or dd:hh:mm:ss, for example 10s or 00:00:10";

/// Parses seconds, a number with a unit, or hh:mm:ss with or without days, as dotnet-trace does.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    parse(text).ok_or_else(|| EXPECTED.to_owned())
}

fn parse(text: &str) -> Option<Duration> {
    if text.contains(':') {
        let parts: Vec<u64> = text.split(':').map(number).collect::<Option<_>>()?;
        let (days, [hours, minutes, seconds]) = match *parts {
            [hours, minutes, seconds] => (0, [hours, minutes, seconds]),
            [days, hours, minutes, seconds] => (days, [hours, minutes, seconds]),
            _ => return None,
        };
        if hours > 23 || minutes > 59 || seconds > 59 {
            return None;
        }
        let all = days.checked_mul(86_400)?.checked_add(hours * 3600 + minutes * 60 + seconds)?;
        return Some(Duration::from_secs(all));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = text.split_at_checked(digits)?;
    let count = number(count)?;
    Some(match unit {
        "ms" => Duration::from_millis(count),
        "" | "s" => Duration::from_secs(count),
        "m" => Duration::from_secs(count.checked_mul(60)?),
        "h" => Duration::from_secs(count.checked_mul(3600)?),
        _ => return None,
    })
}

/// Parses digits, without a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_has_units_or_colons() {
        for (text, milliseconds) in [
            ("0", 0),
            ("10", 10_000),
            ("10s", 10_000),
            ("1500ms", 1500),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("00:00:10", 10_000),
            ("1:02:03", 3_723_000),
            ("00:00:00:10", 10_000),
            ("2:00:00:00", 172_800_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    /// `00:10` could mean minutes and seconds or, as in .NET, hours and minutes, so it is refused.
    #[test]
    fn duration_that_is_not_clear_is_refused() {
        let unclear = "|s|+1|-1|1.5|10 s|10d|00:10|24:00:00|00:60:00|00:00:60|1:2:3:4:5|00::10";
        let too_long = ["99999999999999999999", "18446744073709551615h"];
        for text in unclear.split('|').chain(too_long) {
            assert!(duration(text).unwrap_err().starts_with("expected seconds"), "{text}");
        }
    }
}
