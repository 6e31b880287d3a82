//! Fair shares: weighted fair queueing, and round robin as its case of equal weights and packets of one size.

use super::{Arrival, Asked, Number, Policy};

/// Start-time fair queueing: a packet's rank is the virtual time at which its class has used up what came before it.
///
/// A class that has nothing waiting saves nothing up: it goes on at the virtual time of the packet served last.
/// Source: Goyal, Vin, Cheng, SIGCOMM 1996, as in Sivaraman et al., SIGCOMM 2016 (the PIFO that PANIC uses).
pub struct FairShare {
    weights: Vec<u32>,
    /// The units of service that a packet takes.
    units: fn(&Arrival) -> u64,
    /// The rank of the packet served last.
    virtual_time: u64,
    /// The virtual time until which each class has used its share.
    used: Vec<u64>,
    /// What the last packet was charged: by the weight of then, so that this is what it gives back.
    charged: u64,
}

/// Virtual time of a unit of service at weight 1: so fine that rounding a packet's part down does not show.
const UNIT: u64 = 1 << 20;

impl FairShare {
    /// Shares bytes by these weights.
    pub fn of_bytes(weights: &[u32]) -> FairShare {
        FairShare::new(weights.to_vec(), |arrival| u64::from(arrival.bytes))
    }

    /// Shares packets equally among so many classes.
    pub fn of_packets(n_classes: usize) -> FairShare {
        FairShare::new(vec![1; n_classes], |_| 1)
    }

    /// Another weight, above 0, for what a class sends from now on.
    pub fn set_weight(&mut self, class: usize, weight: u32) {
        assert!(weight > 0, "weights are checked before");
        self.weights[class] = weight;
    }

    fn new(weights: Vec<u32>, units: fn(&Arrival) -> u64) -> FairShare {
        FairShare { used: vec![0; weights.len()], weights, units, virtual_time: 0, charged: 0 }
    }

    fn takes(&self, arrival: &Arrival) -> u64 {
        (self.units)(arrival) * UNIT / u64::from(self.weights[arrival.class])
    }
}

/// A weight.
impl Number for u32 {
    const LIKE: Option<&'static str> = Some("a whole number up to 65536");
    const IS_OUTERMOST: bool = false;

    fn of(asked: &Asked) -> u32 {
        asked.weight
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        match (1..=65536).contains(self) {
            true => Ok(()),
            false => Err(("", format!("is {self}, must be 1 to 65536"))),
        }
    }
}

impl Policy for FairShare {
    fn rank(&mut self, arrival: &Arrival) -> u64 {
        let start = self.virtual_time.max(self.used[arrival.class]);
        self.charged = self.takes(arrival);
        self.used[arrival.class] = start + self.charged;
        start
    }

    fn served(&mut self, rank: u64) {
        self.virtual_time = self.virtual_time.max(rank);
    }

    fn charged(&self) -> u64 {
        self.charged
    }

    fn refund(&mut self, arrival: &Arrival, charged: u64) {
        // What is dropped has used nothing: its class is charged for what is served, however much it sends.
        self.used[arrival.class] = self.used[arrival.class].saturating_sub(charged);
    }
}
