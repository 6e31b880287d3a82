//! Fair shares: weighted fair queueing by bytes, and round robin by packets with equal weights.

use super::{Arrival, ClassService, Number, Policy};

/// Start-time fair queueing: a packet's rank is the virtual time at which its class has used its earlier packets' service.
///
/// An idle class accumulates no credit: it resumes at the virtual time of the packet served last.
/// Source: Goyal, Vin, Cheng, SIGCOMM 1996, as in Sivaraman et al., SIGCOMM 2016 (the PIFO that PANIC uses).
pub struct FairShare {
    weights: Vec<u32>,
    /// Units of service that a packet uses.
    units: fn(&Arrival) -> u64,
    /// Rank of the packet served last.
    virtual_time: u64,
    /// Virtual time up to which each class has used its share.
    used: Vec<u64>,
    /// Charge of the packet ranked last, by the weight at that time; a drop refunds this amount.
    charged: u64,
}

/// Virtual time per unit of service at weight 1; large enough that rounding down has no visible effect.
const UNIT: u64 = 1 << 20;

impl FairShare {
    /// Shares bytes in proportion to these weights.
    pub fn of_bytes(weights: &[u32]) -> FairShare {
        FairShare::new(weights.to_vec(), |arrival| u64::from(arrival.bytes))
    }

    /// Shares packets equally among `n_classes`.
    pub fn of_packets(n_classes: usize) -> FairShare {
        FairShare::new(vec![1; n_classes], |_| 1)
    }

    /// Changes a class's weight, above 0, for packets from now on.
    pub fn set_weight(&mut self, class: usize, weight: u32) {
        assert!(weight > 0, "weights must be above 0");
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

    fn of(service: &ClassService) -> u32 {
        service.weight
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
        // A dropped packet has used no service: a class is charged only for packets that are served.
        self.used[arrival.class] = self.used[arrival.class].saturating_sub(charged);
    }
}
