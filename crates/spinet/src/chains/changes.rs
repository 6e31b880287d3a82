//! Changes while packets flow, after the checks.

use super::check::{Fault, Problem, fault, path_of};
use super::classify::Chains;
use super::experiment::{ChainExperiment, ChangeEntry};
use super::tenants::{Tenants, check_weight};
use diagnostics::near::nearest;
use kernel::Time;
use panic::rmt::EntryParams;

/// A change, with names looked up.
#[derive(Clone, Debug)]
pub struct Change {
    /// Time of the change.
    pub time: Time,
    /// Positions of chains to install.
    pub install: Vec<usize>,
    /// Positions of chains to remove.
    pub remove: Vec<usize>,
    /// Positions of tenants, and their new weights.
    pub weights: Vec<(usize, u32)>,
    /// Names of tables, and all their new entries.
    pub entries: Vec<(String, Vec<EntryParams>)>,
}

/// The checks guarantee that every change succeeds at its time.
pub fn changes(
    experiment: &ChainExperiment,
    pipeline: &Chains,
    tenants: &Tenants,
    has_weights: bool,
) -> Result<Vec<Change>, Fault> {
    let (mut pipeline, chains) = (pipeline.clone(), pipeline.all());
    let mut installed: Vec<bool> = chains.iter().map(|chain| chain.is_installed).collect();
    let mut order: Vec<(usize, &ChangeEntry)> = experiment.at.iter().enumerate().collect();
    order.sort_by_key(|(_, entry)| entry.time.time());
    let mut changes = Vec::new();
    for (i, entry) in order {
        let number = i.to_string();
        let fail = |key: &str, problem: Problem| fault(&["at", &number, key], problem);
        let says_nothing = entry.install.is_empty() && entry.remove.is_empty();
        if says_nothing && entry.weights.is_empty() && entry.entries.is_empty() {
            return Err(fault(&["at", &number], Problem::Nothing));
        }
        let find = |key: &str, found: &String| {
            let near = || nearest(found, chains.iter().map(|chain| chain.params.name.as_str())).map(Into::into);
            let at = chains.iter().position(|chain| chain.params.name == *found);
            at.ok_or_else(|| fail(key, Problem::NoChain { found: found.clone(), near: near() }))
        };
        let (mut install, mut remove, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for name in entry.install.iter() {
            let chain = find("install", name)?;
            if std::mem::replace(&mut installed[chain], true) {
                return Err(fail("install", Problem::Installed { found: name.clone() }));
            }
            install.push(chain);
        }
        for name in entry.remove.iter() {
            let chain = find("remove", name)?;
            if !std::mem::replace(&mut installed[chain], false) {
                return Err(fail("remove", Problem::NotInstalled { found: name.clone() }));
            }
            remove.push(chain);
        }
        for (name, &weight) in &entry.weights {
            let near = || nearest(name, tenants.all.iter().map(|tenant| tenant.name.as_str())).map(Into::into);
            let tenant = tenants.all.iter().position(|tenant| tenant.name == *name);
            let tenant =
                tenant.ok_or_else(|| fail("weights", Problem::NoTenant { found: name.clone(), near: near() }))?;
            check_weight(weight).map_err(|error| fail("weights", error.into()))?;
            weights.push((tenant, weight));
        }
        if !weights.is_empty() && !has_weights {
            return Err(fail("weights", Problem::NoWeights));
        }
        for (table, entries) in &entry.entries {
            pipeline.replace(table, entries).map_err(|error| {
                let path = ["at", &number, "entries", table].into_iter().map(str::to_owned).chain(path_of(&error.at));
                (path.collect(), Box::new(Problem::Chain(error)))
            })?;
        }
        let entries = entry.entries.clone().into_iter().collect();
        changes.push(Change { time: entry.time.time(), install, remove, weights, entries });
    }
    Ok(changes)
}
