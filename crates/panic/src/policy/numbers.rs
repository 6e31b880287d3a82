//! Parameters that a policy has for each class or branch, such as weights.

use super::Bucket;

/// Service that a traffic class asks for; each policy takes the part it uses.
#[derive(Clone, Debug)]
pub struct ClassService {
    /// Weight, 1 to 65536.
    pub weight: u32,
    /// Rate limit, if any.
    pub rate: Option<Bucket>,
}

impl Default for ClassService {
    fn default() -> Self {
        ClassService { weight: 1, rate: None }
    }
}

/// A policy's parameter for one class.
pub trait Number {
    /// Description for errors, if the keys do not explain it.
    const LIKE: Option<&'static str>;
    /// True if such policies delay packets; they are then allowed at the outermost level only.
    const IS_OUTERMOST: bool;

    /// The parameter of a class.
    fn of(service: &ClassService) -> Self;

    /// Checks the parameter. The error has two parts: the invalid key inside the parameter, such as `.burst_bytes`
    /// (empty if the parameter has no keys), and the problem.
    fn check(&self) -> Result<(), (&'static str, String)>;
}

/// All parameters of a policy, one for each class or branch.
pub trait Numbers {
    /// See [`Number::LIKE`].
    fn like(&self) -> Option<&'static str>;
    /// See [`Number::IS_OUTERMOST`].
    fn is_outermost(&self) -> bool;
    /// Number of entries.
    fn n(&self) -> usize;
    /// Finds the first invalid entry: its index and key, and the problem.
    fn check(&self) -> Result<(), (String, String)>;
    /// Appends the entry of another class.
    fn push(&mut self, service: &ClassService);
}

impl<N: Number> Numbers for Vec<N> {
    fn like(&self) -> Option<&'static str> {
        N::LIKE
    }

    fn is_outermost(&self) -> bool {
        N::IS_OUTERMOST
    }

    fn n(&self) -> usize {
        self.len()
    }

    fn check(&self) -> Result<(), (String, String)> {
        let placed = |(i, number): (usize, &N)| number.check().map_err(|(key, what)| (format!("[{i}]{key}"), what));
        self.iter().enumerate().try_for_each(placed)
    }

    fn push(&mut self, service: &ClassService) {
        self.push(N::of(service));
    }
}
