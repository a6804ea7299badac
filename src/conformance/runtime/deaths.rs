//! Which requests kill which runtime. The reference runtime dies of them only where it was told to.

use super::Profile;
use crate::command::Command;
use crate::exchange::RefusalReason;
use crate::wire::{DecodeErrorKind, LimitKind};

/// From this count on .NET 10 fills memory until it dies (F-72).
const TOO_MANY_IDS: u32 = 0x3FFF_FFFF;

/// Whether a runtime of that profile dies of a request that the exchange refuses for `reason`.
pub(super) fn kills(profile: Profile, command: Command, has_payload: bool, reason: RefusalReason) -> bool {
    let is_8_or_9 = matches!(profile, Profile::CoreClr8 | Profile::CoreClr9);
    let is_10 = matches!(profile, Profile::CoreClr10 | Profile::CoreClr11);
    match reason {
        // A stop reads what it has (F-7).
        RefusalReason::Malformed { .. } if !has_payload => (is_8_or_9 || is_10) && command != Command::STOP_TRACING,
        RefusalReason::Malformed { kind: DecodeErrorKind::CountTooLarge { count, .. }, .. } => {
            is_10 && count >= TOO_MANY_IDS && command.set == Command::COLLECT_TRACING.set
        }
        RefusalReason::OverLimit { kind: LimitKind::AbsentName, .. } => is_dump(command) && profile != Profile::Strict,
        RefusalReason::OverLimit { kind, .. } => match kind {
            LimitKind::ZeroBuffer | LimitKind::UnknownFormat(_) | LimitKind::TooManyProviders(_) => is_8_or_9,
            LimitKind::DuplicateEventId(_) | LimitKind::TracepointNameTooLong(_) => is_10,
            _ => false,
        },
        RefusalReason::TooManyProviders { .. } => is_8_or_9,
        _ => false,
    }
}

fn is_dump(command: Command) -> bool {
    command.set == Command::GENERATE_CORE_DUMP.set
}
