//! A tenant's rights at the units that execute commands and at the clusters' DMA, as experiments write them.

use pspin::PspinParams;
use pspin::params::IoSchedule;
use pspin::protocol::{IoTerms, PRIORITIES};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::num::NonZeroU64;
use wire::units::parse_bps;

/// Limits of a rate, in bit/s.
const LEAST_BPS: u64 = 1_000_000;
const MOST_BPS: u64 = 10_000_000_000_000;

/// A tenant's rights at the units that execute commands and at the clusters' DMA. They need a card whose `sharing.io_schedule` is not
/// `in_order`. For `priority` and `cluster_rate`, a `sharing.cluster_dma_schedule` other than `in_order` is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IoSpec {
    /// 0 to 7. Commands and cluster DMA transfers of tenants with a higher priority go first.
    #[serde(default, deserialize_with = "level", skip_serializing_if = "is_0")]
    pub priority: u32,
    /// Highest rate of its copies between card and host, such as `10G`; unlimited by default. Its HostDirect writes have the same limit,
    /// counted apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_rate: Option<String>,
    /// Highest rate at which its handlers send to the network, such as `10G`; unlimited by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress_rate: Option<String>,
    /// Highest rate at which the DMA of a cluster copies between L1 and L2 for its handlers, such as `10G`; unlimited by default.
    /// Each cluster counts its own transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_rate: Option<String>,
}

/// A right that a tenant cannot have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum IoError {
    #[error("is {found}, must be 0 to {}", PRIORITIES - 1)]
    Priority { found: u32 },
    #[error("is `{found}`, must be bits a second from 1M to 10T, such as `10G`")]
    Rate { found: String },
    #[error(
        "has no effect while the card's sharing.io_schedule is in_order; set sharing.io_schedule to round_robin or weighted_fair"
    )]
    InOrder,
    #[error(
        "has no effect while the card's sharing.io_schedule and sharing.cluster_dma_schedule are in_order; set one of them to round_robin or weighted_fair"
    )]
    AllInOrder,
}

impl IoSpec {
    /// The rights on this card, or the key that is wrong and why.
    pub fn terms(&self, nic: &PspinParams) -> Result<IoTerms, (&'static str, IoError)> {
        let IoSpec { priority, host_rate, egress_rate, cluster_rate } = self;
        let found = *priority;
        let level = u8::try_from(found).ok().filter(|&level| usize::from(level) < PRIORITIES);
        let priority = level.ok_or(("priority", IoError::Priority { found }))?;
        let rate = |key, text: &Option<String>| {
            let Some(found) = text.clone() else { return Ok(None) };
            let bps = parse_bps(&found).filter(|bps| (LEAST_BPS..=MOST_BPS).contains(bps)).and_then(NonZeroU64::new);
            bps.map(Some).ok_or((key, IoError::Rate { found }))
        };
        let host_bps = rate("host_rate", host_rate)?;
        let egress_bps = rate("egress_rate", egress_rate)?;
        let cluster_bps = rate("cluster_rate", cluster_rate)?;
        let [commands, clusters] =
            [nic.sharing.io_schedule, nic.sharing.cluster_dma_schedule].map(|rule| rule != IoSchedule::InOrder);
        let keys = [
            ("priority", priority > 0, commands || clusters, IoError::AllInOrder),
            ("host_rate", host_bps.is_some(), commands, IoError::InOrder),
            ("egress_rate", egress_bps.is_some(), commands, IoError::InOrder),
            ("cluster_rate", cluster_bps.is_some(), commands || clusters, IoError::AllInOrder),
        ];
        if let Some((key, .., error)) = keys.into_iter().find(|(_, is_set, has_effect, _)| *is_set && !has_effect) {
            return Err((key, error));
        }
        Ok(IoTerms { priority, host_bps, egress_bps, cluster_bps })
    }

    /// True if every right has its default.
    pub fn is_default(&self) -> bool {
        *self == IoSpec::default()
    }
}

fn level<'de, D: Deserializer<'de>>(value: D) -> Result<u32, D::Error> {
    super::whole(value, 0, PRIORITIES as u32 - 1)
}

fn is_0(value: &u32) -> bool {
    *value == 0
}
