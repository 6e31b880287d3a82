//! The address map, as programs see it.
//!
//! Source: PsPIN RTL a49fec8, `hw/src/pspin_cfg_pkg.sv`, `hw/src/pspin.sv`, `sw/pulp-sdk/linker/link.ld`.

/// L1 of cluster 0.
pub const L1_BASE: u32 = 0x1000_0000;
/// Distance between the L1 memories of two clusters.
pub const L1_STRIDE: u32 = 0x40_0000;
/// Size of the protection window over all clusters: 16 MiB for up to four, as in the RTL, otherwise the next power of
/// two, because an entry of physical memory protection needs one. Sixteen clusters end far below [`SOC_PERIPHERALS`].
pub const fn l1_window(n_clusters: u32) -> u32 {
    let clusters = if n_clusters > 4 { n_clusters.next_power_of_two() } else { 4 };
    clusters * L1_STRIDE
}
/// Offset of a cluster's peripherals from its L1.
pub const CLUSTER_PERIPHERALS: u32 = 0x20_0000;
/// Alias of the own cluster's L1, the same address in all clusters.
pub const ALIAS_BASE: u32 = 0x1b00_0000;
/// Alias of the own cluster's peripherals.
pub const ALIAS_PERIPHERALS: u32 = 0x1b20_0000;
/// The registers in which a core's driver shows its task.
pub const TASK: u32 = ALIAS_PERIPHERALS + 0x5000;
/// The register of a core's driver whose load issues a command.
pub const COMMAND_ISSUE: u32 = ALIAS_PERIPHERALS + 0x5080;
/// The register of a core's DMA port whose load launches a transfer.
pub const DMA_LAUNCH: u32 = ALIAS_PERIPHERALS + 0x4418;
/// L2 handler memory.
pub const L2_HANDLER_BASE: u32 = 0x1c00_0000;
/// L2 packet memory.
pub const L2_PACKET_BASE: u32 = 0x1c40_0000;
/// Program memory.
pub const PROGRAM_BASE: u32 = 0x1d00_0000;
/// Boot address of the cores.
pub const BOOT_ADDR: u32 = 0x1d00_0080;
/// Control block of the system: number of clusters and cores, four scratch registers.
pub const SOC_CONTROL: u32 = 0x1a10_3000;
/// Console: stores print characters.
pub const STDOUT: u32 = 0x1a10_4000;
/// Peripherals of the system: control block and console.
pub const SOC_PERIPHERALS: u32 = 0x1a10_0000;
/// Returns true if the crossbar for single accesses forwards an address outside the own cluster: to another cluster, the system's
/// control block and console, or a memory in L2. It answers all other addresses itself.
pub const fn is_routed(addr: u32) -> bool {
    addr.wrapping_sub(L1_BASE) < l1_window(crate::params::MAX_CLUSTERS as u32)
        || addr.wrapping_sub(SOC_CONTROL) < 0x2000
        || addr.wrapping_sub(L2_HANDLER_BASE) < PROGRAM_BASE + L1_STRIDE - L2_HANDLER_BASE
}
/// Stack size of a core: core c has the 1 KiB of its L1 at c KiB.
pub const STACK_BYTES: u32 = 0x400;
/// Bytes at the end of the first core's stack for the runtime's own data (`hpu_descr`), one word per core.
pub const fn stack_reserved(n_cores: u32) -> u32 {
    4 * n_cores
}
