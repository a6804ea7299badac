//! One character of a string or character literal.

use alloc::{format, vec::Vec};

use super::PasteError;
use super::scanner::Scanner;

/// Reads one character, which may be escaped.
pub(super) fn character(scanner: &mut Scanner<'_>, bytes: &mut Vec<u8>) -> Result<(), PasteError> {
    let at = scanner.at();
    match scanner.next() {
        Some('\\') => escaped(scanner, at, bytes),
        Some(one) => {
            bytes.extend_from_slice(one.encode_utf8(&mut [0; 4]).as_bytes());
            Ok(())
        }
        None => Ok(()),
    }
}

/// What follows a backslash.
fn escaped(scanner: &mut Scanner<'_>, at: usize, bytes: &mut Vec<u8>) -> Result<(), PasteError> {
    let octal = scanner.take_while(3, |one| one.is_digit(8));
    if !octal.is_empty() {
        let byte = u8::from_str_radix(octal, 8);
        bytes.push(byte.map_err(|_| scanner.error(at, format!("\\{octal} is more than a byte")))?);
        return Ok(());
    }
    bytes.push(match scanner.next() {
        Some('x') => {
            let digits = scanner.take_while(2, |one| one.is_ascii_hexdigit());
            u8::from_str_radix(digits, 16)
                .map_err(|_| scanner.error(at, "\\x without hexadecimal digits"))?
        }
        Some('a') => 7,
        Some('b') => 8,
        Some('t') => b'\t',
        Some('n') => b'\n',
        Some('v') => 11,
        Some('f') => 12,
        Some('r') => b'\r',
        Some('e') => 27,
        Some(one @ ('\\' | '\'' | '"' | '?')) => u8::try_from(one).unwrap_or(b'?'),
        // The string goes on in the next line.
        Some('\n') => return Ok(()),
        Some(one @ ('u' | 'U')) => {
            let message =
                format!("\\{one} is a character and not a byte: write its bytes with \\x");
            return Err(scanner.error(at, message));
        }
        Some(one) => return Err(scanner.error(at, format!("\\{one} is not an escape"))),
        None => return Err(scanner.error(at, "the text ends with a backslash")),
    });
    Ok(())
}
