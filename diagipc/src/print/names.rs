//! The document's names in the spelling of other languages.

/// The name of a command without its set: `ProcessInfo2` of `Process/ProcessInfo2`.
pub(super) fn own_name(command: &str) -> &str {
    command.rsplit('/').next().unwrap_or_default()
}

/// `nIncomingBytes` is `N_INCOMING_BYTES`, `circularBufferMB` `CIRCULAR_BUFFER_MB`.
pub(super) fn macro_of(name: &str) -> String {
    let mut spelled = String::new();
    let mut lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && lower {
            spelled.push('_');
        }
        lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        spelled.push(if letter.is_ascii_alphanumeric() {
            letter.to_ascii_uppercase()
        } else {
            '_'
        });
    }
    spelled
}

/// `nIncomingBytes` is `n_incoming_bytes`, `setenv failed (-1)` `setenv_failed_1`.
pub(super) fn snake_of(name: &str) -> String {
    let mut spelled = String::new();
    for part in macro_of(name).to_ascii_lowercase().split('_').filter(|part| !part.is_empty()) {
        if !spelled.is_empty() {
            spelled.push('_');
        }
        spelled.push_str(part);
    }
    spelled
}
