//! Parameters of a cache controller.

use super::{CacheController, CacheControllerPorts};
use crate::checks;
use crate::interconnect::Seen;
use crate::netlist::{Built, Memory, Module, OneWay, PortSpec, Site};
use crate::policy::Replacement;

/// Parameters of a [`CacheController`].
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheControllerParams {
    /// Bytes of a line, a power of two.
    pub line_bytes: u32,
    /// Number of sets, a power of two.
    pub sets: u32,
    /// Ways of a set, 1 to 64.
    pub ways: u32,
    /// Replacement policy.
    pub replacement: Replacement,
    /// If true, a read that misses fetches its line. Source: thesis, 3.2.2, says no read allocate, but its next
    /// sentence has a miss load its line; so both are possible here.
    pub allocates_on_read: bool,
    /// If true, a write that misses fetches its line.
    pub allocates_on_write: bool,
}

impl Module for CacheControllerParams {
    const NAME: &'static str = "cache-controller";
    const ABOUT: &'static str = "Tags and timing of a write-through cache whose data is in a separate memory.";
    const EXAMPLE: &'static str = r#"line_bytes = 32
sets = 128
ways = 2
replacement = "lru"
allocates_on_read = true
allocates_on_write = false"#;

    fn ports(&self) -> Vec<PortSpec> {
        vec![
            PortSpec::to::<Memory>("requester").about("the requester"),
            PortSpec::from::<Memory>("cache").about("data of the lines"),
            PortSpec::from::<Memory>("memory").about("the cached memory"),
            PortSpec::to::<OneWay<Seen>>("snooped").about("writes by others").optional(),
        ]
    }

    fn check(&self) -> Result<(), String> {
        checks::power_of_two("line_bytes", self.line_bytes, 4, 4096)?;
        checks::power_of_two("sets", self.sets, 1, 1 << 16)?;
        checks::within("ways", self.ways, 1, 64)
    }

    fn build(self, site: &mut Site) -> Built {
        let ports = CacheControllerPorts {
            requester: site.to::<Memory>("requester"),
            cache: site.from::<Memory>("cache"),
            memory: site.from::<Memory>("memory"),
            snooped: site.try_to::<OneWay<Seen>>("snooped"),
        };
        let draws = site.system.stream(site.path);
        Built::new(CacheController::new(self, ports, draws))
    }
}
