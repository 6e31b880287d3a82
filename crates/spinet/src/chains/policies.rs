//! Reads scheduling policies and hierarchies of them from files.

use super::tenants::Tenants;
use diagnostics::near::{explain_serde_error, suggestion};
use panic::policy::{Branch, ClassService, PolicyParams, PolicyTree, PolicyTreeError};
use std::collections::BTreeSet;
use toml::{Table, Value};

/// An example of a level, for errors.
const LIKE: &str = "{ policy = { kind = \"fifo\" } }";

/// The names of policies.
pub fn names() -> impl Iterator<Item = &'static str> {
    PolicyParams::ALL.iter().map(|&(name, _)| name)
}

/// Reads a level for packets of `n_classes`; errors name the key.
pub fn read(table: &Table, n_classes: usize) -> Result<PolicyTree, PolicyTreeError> {
    level(table, "", n_classes.saturating_sub(1) as u32)
}

fn level(table: &Table, at: &str, last_class: u32) -> Result<PolicyTree, PolicyTreeError> {
    known(table, at, &["policy", "branches"])?;
    let here = format!("{at}policy");
    let policy =
        policy(as_table(needed(table, at, "policy", "{ kind = \"fifo\" }")?, &here, "{ kind = \"fifo\" }")?, &here)?;
    let mut branches = Vec::new();
    if let Some(value) = table.get("branches") {
        let here = format!("{at}branches");
        for (i, value) in as_list(value, &here)?.iter().enumerate() {
            let here = format!("{here}[{i}]");
            let table = as_table(value, &here, "{ classes = [0], level = ... }")?;
            branches.push(branch(table, &format!("{here}."), last_class)?);
        }
    }
    Ok(PolicyTree { policy, branches })
}

fn branch(table: &Table, at: &str, last_class: u32) -> Result<Branch, PolicyTreeError> {
    known(table, at, &["classes", "level"])?;
    let here = format!("{at}classes");
    let classes = as_list(needed(table, at, "classes", "[0, 1]")?, &here)?.iter().enumerate();
    let classes = classes.map(|(i, value)| Ok(number(value, &format!("{here}[{i}]"), last_class)? as usize));
    let here = format!("{at}level");
    let below = as_table(needed(table, at, "level", LIKE)?, &here, LIKE)?;
    let level = level(below, &format!("{here}."), last_class)?;
    Ok(Branch { classes: classes.collect::<Result<_, PolicyTreeError>>()?, level })
}

fn policy(table: &Table, at: &str) -> Result<PolicyParams, PolicyTreeError> {
    let place = format!("{at}.kind");
    let kind = match needed(table, &format!("{at}."), "kind", "\"fifo\"")? {
        Value::String(kind) => kind.as_str(),
        other => return Err(PolicyTreeError::new(place, format!("is {}, must be one of {}", said(other), listed()))),
    };
    let Some((_, policy)) = PolicyParams::ALL.iter().find(|(name, _)| *name == kind) else {
        let near = suggestion(kind, names());
        return Err(PolicyTreeError::new(place, format!("is `{kind}`, must be one of {}{near}", listed())));
    };
    let numbers = policy.numbers();
    let keys: Vec<&str> = std::iter::once("kind").chain(numbers.map(|(key, _)| key)).collect();
    known(table, &format!("{at}."), &keys)?;
    if let Some((key, numbers)) = numbers {
        let place = format!("{at}.{key}");
        let list = as_list(needed(table, &format!("{at}."), key, "[2, 1]")?, &place)?;
        for (i, value) in list.iter().enumerate() {
            // Read separately, so that an error can name it.
            let alone =
                Table::from_iter([("kind".to_owned(), kind.into()), (key.to_owned(), vec![value.clone()].into())]);
            alone.try_into::<PolicyParams>().map_err(|error| {
                let like = numbers.like().map(|like| format!("is {}, must be {like}", said(value)));
                PolicyTreeError::new(
                    format!("{place}[{i}]"),
                    like.unwrap_or_else(|| explain_serde_error(error.message())),
                )
            })?;
        }
    }
    table
        .clone()
        .try_into()
        .map_err(|error: toml::de::Error| PolicyTreeError::new(at, explain_serde_error(error.message())))
}

fn listed() -> String {
    names().collect::<Vec<_>>().join(", ")
}

/// Formats a value for errors.
fn said(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the text `{text}`"),
        Value::Table(_) => "a table".into(),
        Value::Array(_) => "a list".into(),
        other => format!("`{other}`"),
    }
}

fn as_table<'a>(value: &'a Value, at: &str, like: &str) -> Result<&'a Table, PolicyTreeError> {
    value
        .as_table()
        .ok_or_else(|| PolicyTreeError::new(at, format!("is {}, must be a table such as {like}", said(value))))
}

fn as_list<'a>(value: &'a Value, at: &str) -> Result<&'a [Value], PolicyTreeError> {
    let list = value.as_array().map(Vec::as_slice);
    list.ok_or_else(|| PolicyTreeError::new(at, format!("is {}, must be a list", said(value))))
}

fn number(value: &Value, at: &str, most: u32) -> Result<u32, PolicyTreeError> {
    let found = value.as_integer().and_then(|number| u32::try_from(number).ok()).filter(|&number| number <= most);
    found.ok_or_else(|| PolicyTreeError::new(at, format!("is {}, must be a whole number up to {most}", said(value))))
}

fn needed<'a>(table: &'a Table, at: &str, key: &str, like: &str) -> Result<&'a Value, PolicyTreeError> {
    let missing = || {
        let at = at.trim_end_matches('.');
        PolicyTreeError::new(at, format!("has no `{key}`, which it must have, such as {key} = {like}"))
    };
    table.get(key).ok_or_else(missing)
}

fn known(table: &Table, at: &str, keys: &[&str]) -> Result<(), PolicyTreeError> {
    let Some(found) = table.keys().find(|key| !keys.contains(&key.as_str())) else { return Ok(()) };
    let near = suggestion(found, keys.iter().copied());
    let listed: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let problem = format!("there is no such key here, must be {}{near}", listed.join(" or "));
    Err(PolicyTreeError::new(format!("{at}{found}"), problem))
}

/// Completes a level that covers all classes that packets can have: adds the classes that no packet has.
pub fn complete(
    mut level: PolicyTree,
    used: &BTreeSet<usize>,
    n_classes: usize,
    tenants: &Tenants,
) -> Result<PolicyTree, PolicyTreeError> {
    if !level.branches.is_empty() {
        let is_said =
            |class: &usize, level: &PolicyTree| level.branches.iter().any(|branch| branch.classes.contains(class));
        if let Some(class) = used.iter().find(|class| !is_said(class, &level)) {
            let problem = format!("no branch has class {class}{}; each class must be in one", tenants.of_class(*class));
            return Err(PolicyTreeError::new("branches", problem));
        }
        // Parse the original text first, so that errors name its numbers.
        let own: Vec<usize> = (0..n_classes).filter(|class| used.contains(class) || is_said(class, &level)).collect();
        level.check_for(&own)?;
        let rest: Vec<usize> = (0..n_classes).filter(|class| !is_said(class, &level)).collect();
        let last = level.branches.last_mut().expect("there are some");
        add(last, &rest);
        return Ok(level);
    }
    let least = used.last().map_or(0, |class| class + 1);
    if let Some((key, numbers)) = level.policy.numbers_mut() {
        let found = numbers.n();
        if found < least {
            let (last, whose) = (least - 1, tenants.of_class(least - 1));
            let problem = format!("has {found} entries, must have {least} at least: class {last}{whose} is the last");
            return Err(PolicyTreeError::new(format!("policy.{key}"), problem));
        }
        (found..n_classes).for_each(|_| numbers.push(&ClassService::default()));
    }
    Ok(level)
}

/// Adds classes that no packet has to a branch.
fn add(branch: &mut Branch, classes: &[usize]) {
    branch.classes.extend(classes);
    if let Some(below) = branch.level.branches.last_mut() {
        add(below, classes);
    } else if let Some((_, numbers)) = branch.level.policy.numbers_mut() {
        classes.iter().for_each(|_| numbers.push(&ClassService::default()));
    }
}

#[cfg(test)]
mod tests {
    use crate::chains::CheckedChains;
    use crate::toml_text::Format;
    use expect_test::{Expect, expect};
    use std::path::Path;

    /// Three tenants, and a service with the policy `policy`.
    fn check(policy: &str, want: Expect) {
        let text = format!(
            r#"
chain = ["vip [udp.dst_port == 1]: work", "gold [udp.dst_port == 2]: work", "rest: work"]
traffic = "udp:count=1"
[[service]]
name = "work"
engine = "delay"
[service.policy]
{policy}
"#
        );
        let read = CheckedChains::read(&text, "test.toml", Path::new(""), Format::Toml);
        let result = match read {
            Err(error) => error.to_string(),
            Ok(checked) => {
                let found = checked.services.iter().find(|service| service.name == "work");
                format!("{:?}", found.expect("it is there").policy)
            }
        };
        want.assert_eq(&result);
    }

    #[test]
    fn a_key_that_is_not_there_is_told_with_its_place() {
        check(
            "polcy = { kind = 'fifo' }",
            expect![[r#"
                test.toml: line 8: unknown key `polcy` in `service.policy`, expected one of `policy`, `branches`; did you mean `policy`?
                  polcy = { kind = 'fifo' }
                  ^^^^^"#]],
        );
        check(
            "policy = { kind = 'fifoo' }",
            expect![
                "test.toml: line 8: service[0].policy.policy.kind: is `fifoo`, must be one of fifo, strict-priority, least-slack, round-robin, weighted-fair, leaky-bucket; did you mean `fifo`?"
            ],
        );
        check(
            "policy = { knd = 'fifo' }",
            expect![[
                r#"test.toml: line 8: service[0].policy.policy: has no `kind`, which it must have, such as kind = "fifo""#
            ]],
        );
        check(
            "policy = { kind = 7 }",
            expect![
                "test.toml: line 8: service[0].policy.policy.kind: is `7`, must be one of fifo, strict-priority, least-slack, round-robin, weighted-fair, leaky-bucket"
            ],
        );
        check(
            "policy = 'fifo'",
            expect![[
                r#"test.toml: line 8: service[0].policy.policy: is the text `fifo`, must be a table such as { kind = "fifo" }"#
            ]],
        );
        check(
            "policy = { kind = 'fifo', weights = [1] }",
            expect!["test.toml: line 8: service[0].policy.policy.weights: there is no such key here, must be `kind`"],
        );
        check(
            "policy = { kind = 'weighted-fair', weight = [1] }",
            expect![
                "test.toml: line 8: service[0].policy.policy.weight: there is no such key here, must be `kind` or `weights`; did you mean `weights`?"
            ],
        );
        check(
            "policy = { kind = 'weighted-fair' }",
            expect![
                "test.toml: line 8: service[0].policy.policy: has no `weights`, which it must have, such as weights = [2, 1]"
            ],
        );
        check(
            "policy = { kind = 'weighted-fair', weights = 3 }",
            expect!["test.toml: line 8: service[0].policy.policy.weights: is `3`, must be a list"],
        );
        check(
            "policy = { kind = 'weighted-fair', weights = [1, 'two', 3] }",
            expect![
                "test.toml: line 8: service[0].policy.policy.weights[1]: is the text `two`, must be a whole number up to 65536"
            ],
        );
        check(
            "policy = { kind = 'weighted-fair', weights = [1, -2, 3] }",
            expect![
                "test.toml: line 8: service[0].policy.policy.weights[1]: is `-2`, must be a whole number up to 65536"
            ],
        );
        check(
            "policy = { kind = 'leaky-bucket', buckets = [{ bytes_per_1000_cycle = 3 }] }",
            expect![
                "test.toml: line 8: service[0].policy.policy.buckets[0]: unknown field `bytes_per_1000_cycle`, expected `bytes_per_1000_cycles` or `burst_bytes`; did you mean `bytes_per_1000_cycles`?"
            ],
        );
    }

    #[test]
    fn below_the_outermost_level_places_are_as_exact() {
        let two = |second: &str| {
            format!(
                "policy = {{ kind = 'strict-priority' }}\n\
                 [[service.policy.branches]]\nclasses = [0]\nlevel = {{ policy = {{ kind = 'fifo' }} }}\n\
                 [[service.policy.branches]]\n{second}"
            )
        };
        check(
            &two("classes = [1, 2]\nlevel = { policy = { kind = 'weighted-fare', weights = [3, 1] } }"),
            expect![
                "test.toml: line 14: service[0].policy.branches[1].level.policy.kind: is `weighted-fare`, must be one of fifo, strict-priority, least-slack, round-robin, weighted-fair, leaky-bucket; did you mean `weighted-fair`?"
            ],
        );
        check(
            &two("classes = [1, 2]\nlevel = { policy = { kind = 'weighted-fair', weights = [1, 3, 1] } }"),
            expect![
                "test.toml: line 14: service[0].policy.branches[1].level.policy.weights: has 3 entries, must have 2, one for each of the branch's `classes` [1, 2], in that order"
            ],
        );
        check(
            &two("classes = [1, 2]\nlevel = { policy = { kind = 'weighted-fair', weights = [3, 0] } }"),
            expect![
                "test.toml: line 14: service[0].policy.branches[1].level.policy.weights[1]: is 0, must be 1 to 65536"
            ],
        );
        check(
            &two("classes = [1, 2]\nlevels = { policy = { kind = 'fifo' } }"),
            expect![[r#"
                test.toml: line 14: unknown key `levels` in `service.policy.branches`, expected one of `classes`, `level`; did you mean `level`?
                  levels = { policy = { kind = 'fifo' } }
                  ^^^^^^"#]],
        );
        check(
            &two("classes = [1, 2]"),
            expect![[
                r#"test.toml: line 12: service[0].policy.branches[1]: has no `level`, which it must have, such as level = { policy = { kind = "fifo" } }"#
            ]],
        );
        check(
            &two("classes = [1]\nlevel = { policy = { kind = 'fifo' } }"),
            expect![
                "test.toml: line 9: service[0].policy.branches: no branch has class 2 (`rest`); each class must be in one"
            ],
        );
        check(
            &two("classes = [0, 1, 2]\nlevel = { policy = { kind = 'fifo' } }"),
            expect![
                "test.toml: line 13: service[0].policy.branches[1].classes[0]: is 0, which is also in branches[0]; must be in one branch only"
            ],
        );
        check(
            &two("classes = [1, 2, 300]\nlevel = { policy = { kind = 'fifo' } }"),
            expect![
                "test.toml: line 13: service[0].policy.branches[1].classes[2]: is `300`, must be a whole number up to 7"
            ],
        );
        check(
            &two("classes = [1, 2, 30]\nlevel = { policy = { kind = 'fifo' } }"),
            expect![
                "test.toml: line 13: service[0].policy.branches[1].classes[2]: is `30`, must be a whole number up to 7"
            ],
        );
        check(
            &two("classes = 1\nlevel = { policy = { kind = 'fifo' } }"),
            expect!["test.toml: line 13: service[0].policy.branches[1].classes: is `1`, must be a list"],
        );
    }

    #[test]
    fn classes_that_nobody_has_need_no_numbers() {
        check(
            "policy = { kind = 'weighted-fair', weights = [3, 2, 1] }",
            expect!["PolicyTree { policy: WeightedFair { weights: [3, 2, 1, 1, 1, 1, 1, 1] }, branches: [] }"],
        );
        check(
            "policy = { kind = 'weighted-fair', weights = [3, 2] }",
            expect![
                "test.toml: line 8: service[0].policy.policy.weights: has 2 entries, must have 3 at least: class 2 (`rest`) is the last"
            ],
        );
        check(
            "policy = { kind = 'fifo' }\nbranches = [{ classes = [2, 0, 1], level = { policy = { kind = 'weighted-fair', weights = [3, 2, 1] } } }]",
            expect![
                "PolicyTree { policy: Fifo, branches: [Branch { classes: [2, 0, 1, 3, 4, 5, 6, 7], level: PolicyTree { policy: WeightedFair { weights: [3, 2, 1, 1, 1, 1, 1, 1] }, branches: [] } }] }"
            ],
        );
    }
}
