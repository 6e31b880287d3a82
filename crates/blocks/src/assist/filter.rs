//! Address filter of a receiving MAC.

use crate::ethernet::crc;

/// Address filter of a receiving MAC assist: accepts broadcasts, frames to `address` and to `groups`, or all frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filter {
    /// The card's own address.
    pub address: [u8; 6],
    /// Bit n accepts frames to the group addresses whose [`group`] is n.
    pub groups: u128,
    /// Accepts all frames.
    pub is_promiscuous: bool,
}

/// Why the filter drops a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// The frame is for another card.
    Card,
    /// The frame is for a group that the card has not joined.
    Group,
}

/// The bit of [`Filter::groups`] for a group address: the low seven bits of its CRC-32 without the final inversion.
/// Source: docs/machines/tigon2.md, Descriptors.
pub fn group(address: &[u8]) -> u32 {
    crc(address) & 0x7f
}

impl Filter {
    /// Checks whether a frame with these bytes is accepted. A frame without a complete address is for no card.
    pub(super) fn check(&self, bytes: &[u8]) -> Result<(), Refusal> {
        match bytes.get(..6) {
            _ if self.is_promiscuous => Ok(()),
            Some([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) => Ok(()),
            Some(to) if to[0] & 1 == 1 => {
                if self.groups >> group(to) & 1 == 1 {
                    Ok(())
                } else {
                    Err(Refusal::Group)
                }
            }
            Some(to) if to == self.address => Ok(()),
            _ => Err(Refusal::Card),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_for_others_are_dropped() {
        let filter = Filter { address: [2, 0, 0, 0, 0, 1], groups: 0, is_promiscuous: false };
        let all_hosts = [0x01, 0x00, 0x5e, 0x00, 0x00, 0x01];
        assert_eq!(filter.check(&[2, 0, 0, 0, 0, 1, 9]), Ok(()));
        assert_eq!(filter.check(&[0xff; 6]), Ok(()));
        assert_eq!(filter.check(&[2, 0, 0, 0, 0, 2]), Err(Refusal::Card));
        assert_eq!(filter.check(&[2, 0, 0]), Err(Refusal::Card));
        assert_eq!(filter.check(&all_hosts), Err(Refusal::Group));
        let in_group = Filter { groups: 1 << group(&all_hosts), ..filter };
        assert_eq!(in_group.check(&all_hosts), Ok(()));
        assert_eq!(Filter { is_promiscuous: true, ..filter }.check(&[2, 0, 0, 0, 0, 2]), Ok(()));
    }
}
