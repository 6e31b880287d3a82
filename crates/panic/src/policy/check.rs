//! Checks of policy hierarchies.

use super::{PolicyParams, PolicyTree};

/// Maximum number of levels of a hierarchy.
/// assumed: no source gives a bound; this one limits recursion on deeply nested files.
const MOST_LEVELS: usize = 8;

/// An invalid level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}{}{problem}", if at.is_empty() { "" } else { ": " })]
pub struct PolicyTreeError {
    /// Path to the key: `branches[0].level.policy.weights[1]`; empty for the level itself.
    pub at: String,
    /// Found and allowed values.
    pub problem: String,
}

impl PolicyTreeError {
    /// An error with `problem` at the key `at`.
    pub fn new(at: impl Into<String>, problem: impl Into<String>) -> PolicyTreeError {
        PolicyTreeError { at: at.into(), problem: problem.into() }
    }
}

/// The classes among which a tree decides.
struct Served<'a> {
    classes: &'a [usize],
    /// True for the outermost level.
    is_all: bool,
}

impl PolicyTree {
    /// Checks the hierarchy for `n_classes` classes.
    pub fn check(&self, n_classes: usize) -> Result<(), PolicyTreeError> {
        self.check_for(&(0..n_classes).collect::<Vec<_>>())
    }

    /// Checks the hierarchy for these classes.
    pub fn check_for(&self, classes: &[usize]) -> Result<(), PolicyTreeError> {
        self.check_below("", &Served { classes, is_all: true }, 0)
    }

    fn check_below(&self, at: &str, served: &Served<'_>, depth: usize) -> Result<(), PolicyTreeError> {
        if depth == MOST_LEVELS {
            return Err(PolicyTreeError::new(
                at.trim_end_matches('.'),
                format!("is nested {} deep, must be at most {MOST_LEVELS} deep", depth + 1),
            ));
        }
        if self.branches.is_empty() {
            let whom = match served.is_all {
                true => format!("one for each of the NIC's {} classes (n_classes)", served.classes.len()),
                false => format!("one for each of the branch's `classes` {:?}, in that order", served.classes),
            };
            return self.policy.check(at, served.classes.len(), &whom, served.is_all);
        }
        self.policy.check(at, self.branches.len(), "one for each of `branches`", served.is_all)?;
        self.check_classes(at, served.classes)?;
        self.branches.iter().enumerate().try_for_each(|(i, branch)| {
            let served = Served { classes: &branch.classes, is_all: false };
            branch.level.check_below(&format!("{at}branches[{i}].level."), &served, depth + 1)
        })
    }

    /// Each class that reaches this level must be in exactly one branch.
    fn check_classes(&self, at: &str, classes: &[usize]) -> Result<(), PolicyTreeError> {
        let mut sorted = classes.to_vec();
        sorted.sort_unstable();
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (i, branch) in self.branches.iter().enumerate() {
            if branch.classes.is_empty() {
                return Err(PolicyTreeError::new(
                    format!("{at}branches[{i}].classes"),
                    "is empty, must have at least one class",
                ));
            }
            for (j, class) in branch.classes.iter().enumerate() {
                let place = format!("{at}branches[{i}].classes[{j}]");
                if !sorted.contains(class) {
                    let problem =
                        format!("is {class}, must be one of {sorted:?}, the classes that reach this scheduling level");
                    return Err(PolicyTreeError::new(place, problem));
                }
                if let Some((_, other)) = found.iter().find(|(known, _)| known == class) {
                    let problem = format!("is {class}, which is also in branches[{other}]; must be in one branch only");
                    return Err(PolicyTreeError::new(place, problem));
                }
                found.push((*class, i));
            }
        }
        match sorted.iter().find(|class| found.iter().all(|(known, _)| known != *class)) {
            Some(class) => {
                let problem = format!("have no branch with class {class}; each of {sorted:?} must be in one");
                Err(PolicyTreeError::new(format!("{at}branches"), problem))
            }
            None => Ok(()),
        }
    }
}

impl PolicyParams {
    /// Checks a policy that decides between `n` classes or branches. `whom` is the error text that explains the number
    /// `n`.
    fn check(&self, at: &str, n: usize, whom: &str, is_outermost: bool) -> Result<(), PolicyTreeError> {
        let Some((key, numbers)) = self.numbers() else { return Ok(()) };
        if numbers.is_outermost() && !is_outermost {
            let problem = format!(
                "is `{}`, must be another policy: only the outermost scheduling level may have this one",
                self.name()
            );
            return Err(PolicyTreeError::new(format!("{at}policy.kind"), problem));
        }
        if numbers.n() != n {
            let problem = format!("has {} entries, must have {n}, {whom}", numbers.n());
            return Err(PolicyTreeError::new(format!("{at}policy.{key}"), problem));
        }
        numbers.check().map_err(|(place, problem)| PolicyTreeError::new(format!("{at}policy.{key}{place}"), problem))
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::PolicyTree;
    use expect_test::{Expect, expect};

    /// `tree` is TOML, for three classes.
    fn check(tree: &str, want: Expect) {
        let tree: PolicyTree = toml::from_str(tree).unwrap();
        want.assert_eq(&tree.check(3).map_or_else(|error| error.to_string(), |()| "fine".to_owned()));
    }

    #[test]
    fn hierarchies_are_data() {
        check(r#"policy = { kind = "weighted-fair", weights = [2, 1, 1] }"#, expect!["fine"]);
        check(
            r#"
            policy = { kind = "strict-priority" }
            branches = [
                { classes = [1], level = { policy = { kind = "fifo" } } },
                { classes = [2, 0], level = { policy = { kind = "weighted-fair", weights = [3, 1] } } },
            ]"#,
            expect!["fine"],
        );
    }

    #[test]
    fn a_policy_has_one_number_for_each_branch_or_class() {
        check(
            r#"policy = { kind = "weighted-fair", weights = [2, 1] }"#,
            expect!["policy.weights: has 2 entries, must have 3, one for each of the NIC's 3 classes (n_classes)"],
        );
        check(
            r#"policy = { kind = "weighted-fair", weights = [2, 0, 1] }"#,
            expect!["policy.weights[1]: is 0, must be 1 to 65536"],
        );
        check(
            r#"
            policy = { kind = "weighted-fair", weights = [1, 1, 1] }
            branches = [
                { classes = [1], level = { policy = { kind = "fifo" } } },
                { classes = [2, 0], level = { policy = { kind = "fifo" } } },
            ]"#,
            expect!["policy.weights: has 3 entries, must have 2, one for each of `branches`"],
        );
        check(
            r#"
            policy = { kind = "fifo" }
            branches = [
                { classes = [1], level = { policy = { kind = "fifo" } } },
                { classes = [2, 0], level = { policy = { kind = "weighted-fair", weights = [1, 3, 1] } } },
            ]"#,
            expect![
                "branches[1].level.policy.weights: has 3 entries, must have 2, one for each of the branch's `classes` [2, 0], in that order"
            ],
        );
        check(
            r#"policy = { kind = "leaky-bucket", buckets = [{ bytes_per_1000_cycles = 0, burst_bytes = 0 }, { bytes_per_1000_cycles = 1, burst_bytes = 0 }, { bytes_per_1000_cycles = 1, burst_bytes = 0 }] }"#,
            expect!["policy.buckets[0].bytes_per_1000_cycles: is 0, must be 1 to 1073741824"],
        );
    }

    #[test]
    fn each_class_is_in_one_branch() {
        let branches = |first: &str, second: &str| {
            format!(
                r#"
                policy = {{ kind = "strict-priority" }}
                branches = [
                    {{ classes = {first}, level = {{ policy = {{ kind = "fifo" }} }} }},
                    {{ classes = {second}, level = {{ policy = {{ kind = "fifo" }} }} }},
                ]"#
            )
        };
        check(
            &branches("[0, 1]", "[1, 2]"),
            expect!["branches[1].classes[0]: is 1, which is also in branches[0]; must be in one branch only"],
        );
        check(
            &branches("[0]", "[1]"),
            expect!["branches: have no branch with class 2; each of [0, 1, 2] must be in one"],
        );
        check(
            &branches("[0, 3]", "[1, 2]"),
            expect![
                "branches[0].classes[1]: is 3, must be one of [0, 1, 2], the classes that reach this scheduling level"
            ],
        );
        check(&branches("[]", "[0, 1, 2]"), expect!["branches[0].classes: is empty, must have at least one class"]);
    }

    #[test]
    fn only_the_outermost_policy_can_delay_packets() {
        check(
            r#"
            policy = { kind = "fifo" }
            branches = [{ classes = [0, 1, 2], level = { policy = { kind = "leaky-bucket", buckets = [] } } }]"#,
            expect![
                "branches[0].level.policy.kind: is `leaky-bucket`, must be another policy: only the outermost scheduling level may have this one"
            ],
        );
    }

    #[test]
    fn nesting_is_limited() {
        let (mut text, fifo) = (String::from("{ policy = { kind = 'fifo' } }"), "policy = { kind = 'fifo' }");
        for _ in 0..8 {
            text = format!("{{ {fifo}, branches = [{{ classes = [0, 1, 2], level = {text} }}] }}");
        }
        let table: toml::Table = toml::from_str(&format!("level = {text}")).unwrap();
        let tree: PolicyTree = table["level"].clone().try_into().unwrap();
        let error = tree.check(3).unwrap_err();
        assert_eq!(error.problem, "is nested 9 deep, must be at most 8 deep");
        assert_eq!(error.at.matches("branches[0].level").count(), 8);
    }
}
