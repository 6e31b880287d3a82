//! Hosts of cards, whichever kind: what a run asks of them.

use blocks::feeders::{Checker, FrameLog, Offered};
use blocks::netlist::Card;
use kernel::Time;
use spinach::tengig::TengigHost;
use spinach::tigon2::Tigon2Host;
use std::cell::RefCell;
use std::rc::Rc;

/// What a run asks of a host.
pub trait Host {
    /// What is wrong with the traffic for it.
    fn check(&self, offered: &Offered) -> Result<(), String>;
    /// Whether start-up is over.
    fn has_started(&self) -> bool;
    /// When it was.
    fn started(&self) -> Option<Time>;
    /// Whether all that it is to send has been sent.
    fn is_done(&self) -> bool;
    /// Frames that it received.
    fn received_frames(&self) -> u64;
    /// Looks at when frames were received, when they were posted, and what the check of those received says.
    fn look(&self, what: &mut dyn FnMut(&FrameLog, &FrameLog, &Checker));
    /// Why it believes that the card does not serve it.
    fn diagnosis(&self) -> Option<String>;
    /// Rings as it sees them, in words.
    fn rings(&self) -> Vec<String>;
    /// The first things the card did that no card should do.
    fn faults(&self) -> Vec<String>;
}

impl Host for RefCell<Tigon2Host> {
    fn check(&self, offered: &Offered) -> Result<(), String> {
        self.borrow().params().check_traffic(offered).map_err(|error| error.to_string())
    }

    fn has_started(&self) -> bool {
        self.borrow().started().is_some()
    }

    fn started(&self) -> Option<Time> {
        self.borrow().started()
    }

    fn is_done(&self) -> bool {
        self.borrow().is_done()
    }

    fn received_frames(&self) -> u64 {
        self.borrow().received().frames()
    }

    fn look(&self, what: &mut dyn FnMut(&FrameLog, &FrameLog, &Checker)) {
        let host = self.borrow();
        what(host.received(), host.posted(), host.checker());
    }

    fn diagnosis(&self) -> Option<String> {
        self.borrow().diagnosis().map(ToString::to_string)
    }

    fn rings(&self) -> Vec<String> {
        self.borrow().rings().iter().map(ToString::to_string).collect()
    }

    fn faults(&self) -> Vec<String> {
        let host = self.borrow();
        host.faults().kept().iter().map(|(at, _, text)| format!("{at}: {text}")).collect()
    }
}

impl Host for RefCell<TengigHost> {
    fn check(&self, offered: &Offered) -> Result<(), String> {
        self.borrow().params().check_traffic(offered).map_err(|error| error.to_string())
    }

    fn has_started(&self) -> bool {
        self.borrow().started().is_some()
    }

    fn started(&self) -> Option<Time> {
        self.borrow().started()
    }

    fn is_done(&self) -> bool {
        self.borrow().is_done()
    }

    fn received_frames(&self) -> u64 {
        self.borrow().received().frames()
    }

    fn look(&self, what: &mut dyn FnMut(&FrameLog, &FrameLog, &Checker)) {
        let host = self.borrow();
        what(host.received(), host.posted(), host.checker());
    }

    fn diagnosis(&self) -> Option<String> {
        self.borrow().diagnosis().map(str::to_owned)
    }

    fn rings(&self) -> Vec<String> {
        self.borrow().rings().to_vec()
    }

    fn faults(&self) -> Vec<String> {
        self.borrow().faults().iter().map(|(at, text)| format!("{at}: {text}")).collect()
    }
}

/// All hosts of a card.
pub fn hosts(card: &Card) -> Vec<Rc<dyn Host>> {
    let tigon2 = card.parts::<Tigon2Host>().into_iter().map(|(_, host)| host as Rc<dyn Host>);
    tigon2.chain(card.parts::<TengigHost>().into_iter().map(|(_, host)| host as Rc<dyn Host>)).collect()
}
