//! Addresses of host memory, translated or refused.

use super::*;
use crate::iommu::PageTables;
use crate::testing::params;
use std::cell::RefCell;

/// Behind an IOMMU, where two pages are registered.
fn translated(pcie: PcieParams) -> Way {
    let iommu = IommuParams { enabled: true, entries: 16, ways: 4, hit_cycles: 2, level_cycles: 10, walks: 2 };
    let mut tables = PageTables::default();
    tables.register(1, 0x1000, 0x7000, 0x1000, true).expect("it is free");
    tables.register(1, 0x3000, 0x9000, 0x1000, true).expect("it is free");
    Way { pcie, one_burst: false, iommu, tables: Rc::new(RefCell::new(tables)), takes: |_| true }
}

#[test]
fn addresses_are_translated_and_a_miss_of_one_holds_up_no_other() {
    let writes: [&[_]; 2] = [
        &[(10, 0x1ffc, 4, true), (60, 0x1000, 64, true), (61, 0x3000, 64, true), (62, 0x1040, 64, true)],
        &[(63, 0x1080, 64, true)],
    ];
    translated(params().pcie).check(
        writes,
        &[(70, 0x3010, 16)],
        expect![[r#"
        53   event host_written addr=0x7ffc bytes=0x4
        53   written 0
        63   event host_written addr=0x7000 bytes=0x40
        63   written 0
        66   event host_written addr=0x7080 bytes=0x40
        66   written 1
        104  data 0 [00]!
        104  event host_read addr=0x9010 bytes=0x10
        104  event host_written addr=0x9000 bytes=0x40
        104  written 0
        105  event host_written addr=0x7040 bytes=0x40
        105  written 0
        pcie.write_beats 5
        pcie.write_bytes 260
        pcie.first_write_cycle 53
        pcie.last_write_cycle 105
        pcie.read_beats 1
        pcie.read_bytes 16
        pcie.first_read_cycle 104
        pcie.last_read_cycle 104
        pcie.translation_hits 3
        pcie.translation_misses 3
    "#]],
    );
}

#[test]
fn what_is_not_registered_is_refused_told_once_and_answered() {
    // A write that reaches past the registered page, a burst to nowhere, and a read from nowhere.
    let writes: [&[_]; 2] = [&[(10, 0x1ffc, 8, true), (20, 0x5000, 64, false), (21, 0x5040, 64, true)], &[]];
    let reads = [(10, 0x6000, 80)];
    translated(params().pcie).check(
        writes,
        &reads,
        expect![[r#"
        52   event access_refused packet=0x9 context=0x1 addr=0x6000 write=0x0
        53   data 0 [00]
        53   event host_written addr=0x7ffc bytes=0x4
        53   tells TranslationFault { packet: PacketId(9), addr: 24576, write: false }
        54   data 0 [00]!
        94   event access_refused packet=0x9 context=0x1 addr=0x2000 write=0x1
        95   event access_refused packet=0x9 context=0x1 addr=0x5000 write=0x1
        95   tells TranslationFault { packet: PacketId(9), addr: 8192, write: true }
        95   written 0
        96   tells TranslationFault { packet: PacketId(9), addr: 20480, write: true }
        97   written 0
        pcie.write_beats 1
        pcie.write_bytes 4
        pcie.first_write_cycle 53
        pcie.last_write_cycle 53
        pcie.translation_misses 4
        pcie.refused 3
    "#]],
    );
    translated(link(|_| ())).check(
        writes,
        &reads,
        expect![[r#"
        52   event access_refused packet=0x9 context=0x1 addr=0x6000 write=0x0
        53   tells TranslationFault { packet: PacketId(9), addr: 24576, write: false }
        55   data 0 [00]
        56   data 0 [00]!
        94   event access_refused packet=0x9 context=0x1 addr=0x2000 write=0x1
        95   event access_refused packet=0x9 context=0x1 addr=0x5000 write=0x1
        95   tells TranslationFault { packet: PacketId(9), addr: 8192, write: true }
        95   written 0
        96   tells TranslationFault { packet: PacketId(9), addr: 20480, write: true }
        97   written 0
        153  event host_written addr=0x7ffc bytes=0x4
        pcie.write_beats 1
        pcie.write_bytes 4
        pcie.first_write_cycle 153
        pcie.last_write_cycle 153
        pcie.write_packets 1
        pcie.line_bytes_to_host 28
        pcie.translation_misses 4
        pcie.refused 3
    "#]],
    );
}
