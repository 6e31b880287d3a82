//! The rows of a DRAM, and what it costs to open one.

use crate::checks;

/// Geometry and latencies of a DRAM's rows. Neighbouring rows are in neighbouring banks.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowsParams {
    /// Bytes of a row of a bank, a power of two. Source: thesis, 3.2.2 (row length of the memory controller).
    pub row_bytes: u32,
    /// Banks, a power of two; each holds one row open.
    pub banks: u32,
    /// Cycles to open a row in a bank that has none open. Source: thesis, 3.2.2 (row activation latency).
    pub activation_cycles: u64,
    /// Cycles to open a row in a bank that has another open.
    pub conflict_cycles: u64,
}

impl RowsParams {
    /// What is wrong with them.
    pub fn check(&self) -> Result<(), String> {
        checks::power_of_two("rows.row_bytes", self.row_bytes, 16, 1 << 20)?;
        checks::power_of_two("rows.banks", self.banks, 1, 64)?;
        if self.activation_cycles > self.conflict_cycles || self.conflict_cycles > 1000 {
            return Err(format!(
                "rows.activation_cycles is {} and rows.conflict_cycles {}, must ascend and be at most 1000",
                self.activation_cycles, self.conflict_cycles
            ));
        }
        Ok(())
    }
}

/// Which row is open in each bank.
pub struct Rows {
    params: RowsParams,
    open: Vec<Option<u64>>,
    /// Rows opened so far, and the cycles that took.
    pub n_opened: u64,
    /// The cycles that opening took so far.
    pub cycles: u64,
}

impl Rows {
    /// All banks closed.
    pub fn new(params: RowsParams) -> Rows {
        Rows { open: vec![None; params.banks as usize], params, n_opened: 0, cycles: 0 }
    }

    /// Opens the row of `addr` and says how long the memory is blocked by that: 0 if it is open.
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

    /// The same for all rows of a reference.
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
    fn a_row_is_opened_once_and_costs_more_where_another_is_open() {
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
