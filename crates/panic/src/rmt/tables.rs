//! Changes of tables, including the initial entries.

use super::action_params::ActionParams;
use super::chain::{ChainKey, ChainParams};
use super::counters::{EntryState, Source, TableState};
use super::error::{Problem, RmtError, within};
use super::names::check_word;
use super::params::{EntryParams, RmtParams, TableParams, table_size};
use super::table::{Entry, Table};
use super::{EntryHandle, Rmt};

/// Name of the table of the chains.
const CHAINS: &str = "chains";

/// Location of an entry.
enum EntryLocation {
    Table { table: usize, at: usize },
    Bound(usize),
}

impl Source {
    /// Returns true for a chain of this transmit queue.
    pub(super) fn is_bound_to(&self, queue: u16) -> bool {
        matches!(self, Source::Chain(chain) if chain.queues.contains(&queue))
    }
}

impl Rmt {
    /// Adds the initial tables and chains.
    pub(super) fn fill(&mut self, params: &RmtParams) -> Result<(), RmtError> {
        for (i, table) in params.tables.iter().enumerate() {
            self.add_table(table).map_err(|error| error.below(&format!("tables[{i}]")))?;
        }
        if self.has_chains {
            self.tables.push(Table::new(CHAINS, table_size()));
        }
        for (i, chain) in params.chains.iter().enumerate() {
            self.insert_chain(chain).map_err(|error| error.below(&format!("chains[{i}]")))?;
        }
        Ok(())
    }

    fn add_table(&mut self, params: &TableParams) -> Result<(), RmtError> {
        let TableParams { name, size, entries, otherwise } = params;
        check_word(name).map_err(|problem| problem.at("name"))?;
        if name == CHAINS || self.tables.iter().any(|table| table.name == *name) {
            return Err(Problem::Taken { what: "table", name: name.clone() }.at("name"));
        }
        within("size", (*size).into(), 1, 65536)?;
        self.tables.push(Table::new(name, *size));
        self.set_otherwise(name, otherwise)?;
        for (i, entry) in entries.iter().enumerate() {
            self.insert(name, entry).map_err(|error| error.below(&format!("entries[{i}]")))?;
        }
        Ok(())
    }

    /// Adds an entry to a table.
    ///
    /// Errors: an unknown or full table, or an error in the entry.
    pub fn insert(&mut self, table: &str, entry: &EntryParams) -> Result<EntryHandle, RmtError> {
        let table = self.table(table)?;
        let entry = self.entry(EntryHandle(self.next_handle), entry)?;
        self.tables[table].check_room().map_err(|problem| problem.at(""))?;
        let handle = entry.state.handle;
        self.tables[table].insert(entry);
        self.next_handle += 1;
        Ok(handle)
    }

    /// Adds a chain: to the last table, or to its transmit queues.
    ///
    /// Errors: a name or queue that is in use, no stage left for the chains, or an error in the chain.
    pub fn insert_chain(&mut self, chain: &ChainParams) -> Result<EntryHandle, RmtError> {
        let entry = self.chain(EntryHandle(self.next_handle), chain)?;
        self.check_chain_room(chain)?;
        let handle = entry.state.handle;
        self.put_chain(entry);
        self.next_handle += 1;
        Ok(handle)
    }

    /// Replaces an entry; keeps its handle and counters.
    pub fn modify(&mut self, handle: EntryHandle, entry: &EntryParams) -> Result<(), RmtError> {
        let place = self.place(handle)?;
        let EntryLocation::Table { table, at } = place else {
            return Err(Problem::found("a chain of transmit queues", "an entry of a table").at(""));
        };
        let mut entry = self.entry(handle, entry)?;
        let before = self.tables[table].entries.remove(at).state;
        (entry.state.packets, entry.state.bytes) = (before.packets, before.bytes);
        self.tables[table].insert(entry);
        Ok(())
    }

    /// Replaces all entries of a table.
    ///
    /// Errors: an unknown table or the table of the chains, too many entries, or an error in an entry; then nothing changes.
    pub fn replace(&mut self, table: &str, entries: &[EntryParams]) -> Result<(), RmtError> {
        let table = self.table(table)?;
        if self.has_chains && table + 1 == self.tables.len() {
            return Err(Problem::found(
                "the table of the chains",
                "another table; chains are inserted and removed one by one",
            )
            .at(""));
        }
        let mut after = Table { entries: Vec::new(), ..self.tables[table].clone() };
        for (i, entry) in entries.iter().enumerate() {
            let at = |error: RmtError| error.below(&format!("[{i}]"));
            after.check_room().map_err(|problem| at(problem.at("")))?;
            after.insert(self.entry(EntryHandle(self.next_handle + i as u64), entry).map_err(at)?);
        }
        self.next_handle += entries.len() as u64;
        self.tables[table] = after;
        Ok(())
    }

    /// Replaces a chain; keeps its handle and counters.
    pub fn modify_chain(&mut self, handle: EntryHandle, chain: &ChainParams) -> Result<(), RmtError> {
        let place = self.place(handle)?;
        if let EntryLocation::Table { table, .. } = place
            && !(self.has_chains && table + 1 == self.tables.len())
        {
            return Err(Problem::found(format!("an entry of table `{}`", self.tables[table].name), "a chain").at(""));
        }
        let mut entry = self.chain(handle, chain)?;
        let was_bound = matches!(place, EntryLocation::Bound(_));
        if was_bound && chain.queues.is_empty() {
            self.check_chain_room(chain)?;
        }
        let before = self.take(place);
        (entry.state.packets, entry.state.bytes) = (before.packets, before.bytes);
        self.put_chain(entry);
        Ok(())
    }

    /// Removes an entry or a chain; returns it with its counters.
    pub fn remove(&mut self, handle: EntryHandle) -> Result<EntryState, RmtError> {
        let place = self.place(handle)?;
        Ok(self.take(place))
    }

    /// Replaces a table's actions for packets that no entry matches.
    pub fn set_otherwise(&mut self, table: &str, actions: &[ActionParams]) -> Result<(), RmtError> {
        let table = self.table(table)?;
        let looked_up = self.names.actions(actions, "otherwise")?;
        self.tables[table].otherwise = actions.to_vec();
        self.tables[table].otherwise_actions = looked_up;
        Ok(())
    }

    /// The present tables, in the order of their stages.
    pub fn tables(&self) -> Vec<TableState> {
        self.tables.iter().map(Table::state).collect()
    }

    /// The present chains: first those of the last table, then those of transmit queues.
    pub fn chains(&self) -> Vec<EntryState> {
        self.chain_states().cloned().collect()
    }

    /// The present contents of the registers of words: the name, and each nonzero word with its index.
    pub fn registers(&self) -> Vec<(String, Vec<(usize, u64)>)> {
        let words = |name: &str| {
            let words = self.words(name).expect("the register must have words").iter();
            words.enumerate().filter(|&(_, &word)| word != 0).map(|(i, &word)| (i, word)).collect()
        };
        self.names.registers_of_words().map(|name| (name.to_owned(), words(name))).collect()
    }

    /// The present words of a register.
    pub fn words(&self, register: &str) -> Result<&[u64], RmtError> {
        let place = self.names.register(register, false).map_err(|problem| problem.at(""))?;
        Ok(self.registers[place].words())
    }

    fn chain_states(&self) -> impl Iterator<Item = &EntryState> {
        let matched = self.chain_table().into_iter().flat_map(|table| &table.entries);
        let chains = matched.chain(&self.bound).map(|entry| &entry.state);
        chains.filter(|state| matches!(state.source, Source::Chain(_)))
    }

    fn chain_table(&self) -> Option<&Table> {
        self.tables.last().filter(|_| self.has_chains)
    }

    fn table(&self, name: &str) -> Result<usize, RmtError> {
        let known = self.tables.iter().map(|table| table.name.as_str());
        let place = self.tables.iter().position(|table| table.name == name);
        place.ok_or_else(|| Problem::unknown("table", name, known).at(""))
    }

    fn place(&self, handle: EntryHandle) -> Result<EntryLocation, RmtError> {
        for (table, entries) in self.tables.iter().enumerate() {
            if let Some(at) = entries.position(handle) {
                return Ok(EntryLocation::Table { table, at });
            }
        }
        let bound = self.bound.iter().position(|entry| entry.state.handle == handle);
        bound.map(EntryLocation::Bound).ok_or_else(|| Problem::NoEntry(handle).at(""))
    }

    fn take(&mut self, place: EntryLocation) -> EntryState {
        match place {
            EntryLocation::Table { table, at } => self.tables[table].entries.remove(at).state,
            EntryLocation::Bound(at) => self.bound.remove(at).state,
        }
    }

    fn entry(&self, handle: EntryHandle, params: &EntryParams) -> Result<Entry, RmtError> {
        let matcher = self.names.matcher(&params.matches).map_err(|problem| problem.at("match"))?;
        let actions = self.names.actions(&params.actions, "actions")?;
        Ok(Entry::new(handle, Source::Entry(params.clone()), matcher, actions))
    }

    fn chain(&self, handle: EntryHandle, params: &ChainParams) -> Result<Entry, RmtError> {
        let chain = self.check_chain(handle, params).map_err(|(part, problem)| problem.at(part.key()))?;
        Ok(Entry::new(handle, Source::Chain(params.clone()), chain.matcher, chain.actions))
    }

    /// Resolves a chain that gets this handle.
    pub(super) fn check_chain(
        &self,
        handle: EntryHandle,
        params: &ChainParams,
    ) -> Result<super::chain::Chain, (ChainKey, Problem)> {
        for state in self.chain_states().filter(|state| state.handle != handle) {
            let Source::Chain(other) = &state.source else { continue };
            if other.name == params.name {
                return Err((ChainKey::Name, Problem::Taken { what: "chain", name: other.name.clone() }));
            }
            if let Some(i) = params.queues.iter().position(|queue| other.queues.contains(queue)) {
                return Err((
                    ChainKey::Queue(i),
                    Problem::Bound { queue: params.queues[i], chain: other.name.clone() },
                ));
            }
        }
        self.names.chain(params)
    }

    fn check_chain_room(&self, chain: &ChainParams) -> Result<(), RmtError> {
        if !chain.queues.is_empty() {
            return Ok(());
        }
        match self.chain_table() {
            Some(table) => table.check_room().map_err(|problem| problem.at("")),
            None => {
                let tables = format!("{} tables and the chains", self.tables.len());
                Err(Problem::Stages { tables, stages: self.stages }.at(""))
            }
        }
    }

    fn put_chain(&mut self, entry: Entry) {
        let is_bound = matches!(&entry.state.source, Source::Chain(chain) if !chain.queues.is_empty());
        match self.tables.last_mut() {
            Some(table) if !is_bound => table.insert(entry),
            _ => {
                let at = self.bound.partition_point(|other| other.state.handle < entry.state.handle);
                self.bound.insert(at, entry);
            }
        }
    }
}
