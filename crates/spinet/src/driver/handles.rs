//! The driver's handles: numbers that identify objects, and a table for each kind of object.

use super::DriverError;
use std::collections::BTreeMap;
use std::fmt;

/// The name of a handle's object, for errors.
pub trait Handle: Copy {
    /// Its name in errors, such as `memory`.
    const WHAT: &'static str;
    /// Its number, from 1 in the order in which they were handed out.
    fn number(self) -> u64;
    /// The handle of this number.
    fn from_number(number: u64) -> Self;

    /// The error if a context uses the object.
    fn in_use(self, user: ContextId) -> DriverError {
        DriverError::InUse { what: Self::WHAT, number: self.number(), user: user.to_string(), end: "be destroyed" }
    }
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident = $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u64);

        impl Handle for $name {
            const WHAT: &'static str = $what;

            fn number(self) -> u64 {
                self.0
            }

            fn from_number(number: u64) -> Self {
                $name(number)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {}", $what, self.0)
            }
        }
    )*};
}

handles! {
    /// A user of the card: a process of the host. No other tenant can use its objects.
    TenantId = "tenant";
    /// A part of handler memory, or of every cluster's scratchpad memory.
    MemoryId = "memory";
    /// Code in program memory, with its static data.
    ProgramId = "program";
    /// Host memory that the card may reach.
    HostId = "host memory";
    /// The environment in which handlers run.
    ContextId = "context";
    /// A rule that sends packets to a context.
    RuleId = "rule";
    /// An access of the host to the card's memories.
    TicketId = "ticket";
}

/// Objects of one kind, each with its owner. Numbers are never used twice, so uses of freed objects are detected.
#[derive(Clone, Debug)]
pub struct Registry<H, T> {
    last: u64,
    things: BTreeMap<u64, (TenantId, T)>,
    kind: std::marker::PhantomData<H>,
}

impl<H, T> Default for Registry<H, T> {
    fn default() -> Self {
        Registry { last: 0, things: BTreeMap::new(), kind: std::marker::PhantomData }
    }
}

impl<H: Handle, T> Registry<H, T> {
    /// Adds an object of `owner`.
    pub fn add(&mut self, owner: TenantId, thing: T) -> H {
        self.last += 1;
        self.things.insert(self.last, (owner, thing));
        H::from_number(self.last)
    }

    /// The number of the next object.
    pub fn next(&self) -> H {
        H::from_number(self.last + 1)
    }

    fn check(&self, owner: TenantId, handle: H) -> Result<(), DriverError> {
        let (what, number) = (H::WHAT, handle.number());
        match self.things.get(&number) {
            Some((other, _)) if *other == owner => Ok(()),
            Some(_) => Err(DriverError::Foreign { what, number, tenant: owner.0 }),
            None if (1..=self.last).contains(&number) => Err(DriverError::Gone { what, number }),
            None => Err(DriverError::Unknown { what, number }),
        }
    }

    /// An object, for its owner.
    pub fn get(&self, owner: TenantId, handle: H) -> Result<&T, DriverError> {
        self.check(owner, handle)?;
        Ok(&self.things[&handle.number()].1)
    }

    /// An object that its owner may change.
    pub fn get_mut(&mut self, owner: TenantId, handle: H) -> Result<&mut T, DriverError> {
        self.check(owner, handle)?;
        Ok(&mut self.things.get_mut(&handle.number()).expect("just checked").1)
    }

    /// The tenant that owns the handle.
    pub fn owner(&self, handle: H) -> Option<TenantId> {
        self.things.get(&handle.number()).map(|(owner, _)| *owner)
    }

    /// An object, for the driver itself.
    pub fn any_mut(&mut self, handle: H) -> Option<&mut T> {
        self.things.get_mut(&handle.number()).map(|(_, thing)| thing)
    }

    /// Removes an object, for the driver itself.
    pub fn drop_any(&mut self, handle: H) {
        self.things.remove(&handle.number());
    }

    /// Removes an object, for its owner.
    pub fn remove(&mut self, owner: TenantId, handle: H) -> Result<T, DriverError> {
        self.check(owner, handle)?;
        Ok(self.things.remove(&handle.number()).expect("just checked").1)
    }

    /// All objects of all owners, in the order in which they were added.
    pub fn all(&self) -> impl Iterator<Item = (H, TenantId, &T)> {
        self.things.iter().map(|(&number, (owner, thing))| (H::from_number(number), *owner, thing))
    }

    /// Handles of all objects of one owner.
    pub fn owned(&self, owner: TenantId) -> Vec<H> {
        self.all().filter(|(_, other, _)| *other == owner).map(|(handle, ..)| handle).collect()
    }
}
