//! Combines the [`Activity`] of the parts of one component.

use kernel::Activity;

/// The earlier of two activities.
#[inline]
pub fn earliest(one: Activity, other: Activity) -> Activity {
    match (one, other) {
        (Activity::Busy, _) | (_, Activity::Busy) => Activity::Busy,
        (Activity::Until(a), Activity::Until(b)) => Activity::Until(a.min(b)),
        (Activity::Idle, some) | (some, Activity::Idle) => some,
    }
}

/// Busy if something changed, because more may then be possible at the next edge.
#[inline]
pub fn busy_if(changed: bool) -> Activity {
    if changed { Activity::Busy } else { Activity::Idle }
}
