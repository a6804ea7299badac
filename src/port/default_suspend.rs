//! Whether the default port suspends.

/// `DOTNET_DefaultDiagnosticPortSuspend` as a runtime reads it (F-86): a 32-bit hexadecimal number,
/// parsed like C's `strtoul`.
///
/// It may begin with white space, a sign, and `0x` or `0X`, and any text may follow. Any number but
/// zero suspends. The document has only `1` and `0`.
///
/// ```
/// use dotnet_diagnostics_ipc::port::DefaultPortSuspend;
///
/// assert!(DefaultPortSuspend::parse("1").suspends());
/// assert!(!DefaultPortSuspend::parse("true").suspends());
/// assert_eq!(DefaultPortSuspend::parse("10 MB"), DefaultPortSuspend::Number { magnitude: 16, end: 2 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DefaultPortSuspend {
    /// A number.
    Number {
        /// The number without its sign.
        magnitude: u32,
        /// The offset of its end in the text. The rest is ignored.
        end: usize,
    },
    /// Text that is not a number: treated as unset.
    NotANumber,
    /// A number of more than 32 bits: treated as unset.
    TooLarge,
}

impl DefaultPortSuspend {
    /// Reads the value of the variable.
    pub fn parse(text: &str) -> Self {
        let rest = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
        let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let is_digit = |c: char| c.is_ascii_hexdigit();
        // "0x" without a digit after it is the number 0.
        let prefixed = rest
            .strip_prefix("0x")
            .or_else(|| rest.strip_prefix("0X"))
            .filter(|digits| digits.starts_with(is_digit));
        let digits = prefixed.unwrap_or(rest);
        let behind = digits.trim_start_matches(is_digit);
        let end = text.len().saturating_sub(behind.len());
        let digits = digits.strip_suffix(behind).unwrap_or(digits);
        if digits.is_empty() {
            return Self::NotANumber;
        }
        u32::from_str_radix(digits, 16)
            .map_or(Self::TooLarge, |magnitude| Self::Number { magnitude, end })
    }

    /// Whether the default port suspends the runtime at startup.
    pub const fn suspends(self) -> bool {
        matches!(self, Self::Number { magnitude: 1.., .. })
    }
}

/// The value as the document has it: `1` or `0`.
///
/// ```
/// use dotnet_diagnostics_ipc::port::default_port_suspend_text;
///
/// assert_eq!(default_port_suspend_text(true), "1");
/// ```
pub const fn default_port_suspend_text(suspends: bool) -> &'static str {
    if suspends { "1" } else { "0" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_reports_its_end() {
        let number = |text| match DefaultPortSuspend::parse(text) {
            DefaultPortSuspend::Number { magnitude, end } => Some((magnitude, end)),
            _ => None,
        };
        assert_eq!(number("\t -0X1fz"), Some((0x1f, 7)));
        assert_eq!(number("0x"), Some((0, 1)));
        assert_eq!(number("0xg"), Some((0, 1)));
        assert_eq!(number("000000000001"), Some((1, 12)));
        assert_eq!(number("ffffffff"), Some((u32::MAX, 8)));
    }

    #[test]
    fn text_without_number_is_not_a_number() {
        for text in ["", " ", "true", "x1", "--1", "+", "é1"] {
            assert_eq!(DefaultPortSuspend::parse(text), DefaultPortSuspend::NotANumber, "{text:?}");
        }
        assert_eq!(DefaultPortSuspend::parse("100000000"), DefaultPortSuspend::TooLarge);
    }
}
