//! A user's policies for what tenants share.

use diagnostics::near::suggestion;
use pspin::policy::{PARTS, Policies};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use pspin::policy::{Choice, Tenant, TenantPolicy};

/// The names of a driver's tenants, by the numbers that policies see. A clone has the same names.
#[derive(Clone, Default, Debug)]
pub struct TenantNames(Arc<Mutex<BTreeMap<u32, String>>>);

impl TenantNames {
    /// The name of a tenant.
    pub fn get(&self, number: u32) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }

    pub(super) fn add(&self, number: u32, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(number, name.to_owned());
    }
}

/// Policies in place of the card's rules, by the names of parts ([`PARTS`]).
#[derive(Default)]
pub struct OwnSharing {
    /// The policies. For `cluster_dma` there is one for each cluster, in order.
    pub policies: Vec<(String, Box<dyn TenantPolicy>)>,
    /// The driver writes the tenants' names here.
    pub names: TenantNames,
}

/// The name of a part that does not exist.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("policies: there is no part `{found}`, must be one of {}{}", PARTS.join(", "), suggestion(found, PARTS))]
pub struct NoPart {
    found: String,
}

impl OwnSharing {
    /// Puts each policy at the position of its part. The card checks how many it needs.
    pub(crate) fn placed(self) -> Result<(Policies, TenantNames), NoPart> {
        let mut placed = Policies::default();
        for (found, policy) in self.policies {
            match PARTS.iter().position(|part| *part == found) {
                Some(part) => placed.0[part].push(policy),
                None => return Err(NoPart { found }),
            }
        }
        Ok((placed, self.names))
    }
}
