//! DRAM rows and the cost of opening them.

use crate::checks;

/// Geometry and latencies of DRAM rows. Consecutive rows are in consecutive banks.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowsParams {
    /// Bytes of a row in one bank, a power of two. Source: thesis, 3.2.2 (row length of the memory controller).
    pub row_bytes: u32,
    /// Number of banks, a power of two; each keeps one row open.
    pub banks: u32,
    /// Cycles to open a row in a bank without an open row. Source: thesis, 3.2.2 (row activation latency).
    pub activation_cycles: u64,
    /// Cycles to open a row in a bank with another open row.
    pub conflict_cycles: u64,
}

impl RowsParams {
    /// Checks the parameters.
    pub fn check(&self) -> Result<(), String> {
        checks::power_of_two("rows.row_bytes", self.row_bytes, 16, 1 << 20)?;
        checks::power_of_two("rows.banks", self.banks, 1, 64)?;
        if self.activation_cycles > self.conflict_cycles || self.conflict_cycles > 1000 {
            return Err(format!(
                "rows.activation_cycles is {} and rows.conflict_cycles {}, must be ascending and at most 1000",
                self.activation_cycles, self.conflict_cycles
            ));
        }
        Ok(())
    }
}

/// The open row of each bank.
pub struct Rows {
    params: RowsParams,
    open: Vec<Option<u64>>,
    /// Number of rows opened so far.
    pub n_opened: u64,
    /// Cycles spent opening rows so far.
    pub cycles: u64,
}

impl Rows {
    /// All banks closed.
    pub fn new(params: RowsParams) -> Rows {
        Rows { open: vec![None; params.banks as usize], params, n_opened: 0, cycles: 0 }
    }

    /// Opens the row of `addr`. Returns the cycles for which this blocks the memory: 0 if the row is already open.
    pub fn open(&mut self, addr: u64) -> u64 {
        let row = addr / u64::from(self.params.row_bytes);
        let bank = &mut self.open[(row & u64::from(self.params.banks - 1)) as usize];
        let cycles = match bank.replace(row) {
            Some(old) if old == row => return 0,
            Some(_) => self.params.conflict_cycles,
            None => self.params.activation_cycles,
        };
        self.n_opened += 1;
        self.cycles += cycles;
        cycles
    }

    /// Opens all rows of a reference.
    pub fn open_all(&mut self, addr: u64, bytes: u32) -> u64 {
        let row = u64::from(self.params.row_bytes);
        let last = addr + u64::from(bytes.max(1) - 1);
        (addr / row..=last / row).map(|n| self.open(n * row)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_opened_once_and_takes_longer_if_another_is_open() {
        let params = RowsParams { row_bytes: 256, banks: 2, activation_cycles: 5, conflict_cycles: 9 };
        assert_eq!(params.check(), Ok(()));
        let mut rows = Rows::new(params);
        // Rows 0 and 2 share bank 0, row 1 is in bank 1.
        let costs = [0, 0xff, 0x100, 0x200, 0x1ff, 0x000].map(|addr| rows.open(addr));
        assert_eq!(costs, [5, 0, 5, 9, 0, 9]);
        assert_eq!(rows.open_all(0x1f8, 16), 9, "row 1 is open, row 2 is not");
        assert_eq!((rows.n_opened, rows.cycles), (5, 5 + 5 + 9 + 9 + 9));
    }
}
