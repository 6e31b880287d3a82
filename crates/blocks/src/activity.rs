//! What a component made of several parts does next.

use kernel::Activity;

/// The sooner of what two parts of a component want.
#[inline]
pub fn sooner(one: Activity, other: Activity) -> Activity {
    match (one, other) {
        (Activity::Busy, _) | (_, Activity::Busy) => Activity::Busy,
        (Activity::Until(a), Activity::Until(b)) => Activity::Until(a.min(b)),
        (Activity::Idle, some) | (some, Activity::Idle) => some,
    }
}

/// Busy if something changed: then more may be possible at the next edge.
#[inline]
pub fn after(changed: bool) -> Activity {
    if changed { Activity::Busy } else { Activity::Idle }
}
