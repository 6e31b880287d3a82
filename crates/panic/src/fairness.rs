//! Fairness of an allocation.

/// Each amount's share of the total, 0 to 1; all 0 if the total is 0.
pub fn shares(amounts: &[u64]) -> Vec<f64> {
    let total: u128 = amounts.iter().map(|&amount| u128::from(amount)).sum();
    amounts.iter().map(|&amount| if total == 0 { 0.0 } else { amount as f64 / total as f64 }).collect()
}

/// Jain's fairness index of `amounts`, each divided by its entitlement in `due` (for example a weight): 1 if all ratios are
/// equal, 1/n if one gets everything. All-zero amounts count as fair.
///
/// Panics unless every entitlement is above 0.
/// Source: Jain, Chiu, Hawe, DEC TR-301, 1984.
pub fn jain(amounts: &[u64], due: &[f64]) -> f64 {
    assert_eq!(amounts.len(), due.len(), "each amount needs an entitlement");
    assert!(due.iter().all(|&due| due > 0.0), "entitlements must be above 0");
    let per_weight = || amounts.iter().zip(due).map(|(&amount, &due)| amount as f64 / due);
    let (sum, squares) = per_weight().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    if squares == 0.0 { 1.0 } else { sum * sum / (amounts.len() as f64 * squares) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(amounts: &[u64], weights: &[u32], want: Expect) {
        let weights: Vec<f64> = weights.iter().map(|&weight| weight.into()).collect();
        want.assert_eq(&format!("{:.3?} {:.3}", shares(amounts), jain(amounts, &weights)));
    }

    #[test]
    fn the_index_is_one_for_equal_shares_and_one_nth_for_one_winner() {
        check(&[5, 5, 5, 5], &[1, 1, 1, 1], expect!["[0.250, 0.250, 0.250, 0.250] 1.000"]);
        check(&[9, 0, 0, 0], &[1, 1, 1, 1], expect!["[1.000, 0.000, 0.000, 0.000] 0.250"]);
        check(&[40, 20], &[2, 1], expect!["[0.667, 0.333] 1.000"]);
        check(&[40, 20], &[1, 1], expect!["[0.667, 0.333] 0.900"]);
    }

    #[test]
    fn all_zero_amounts_are_fair() {
        check(&[0, 0], &[1, 1], expect!["[0.000, 0.000] 1.000"]);
    }
}
