//! The traffic that a run offers to a card, from the network and from the host.

use super::acknowledgements::Acknowledgements;
use super::datagrams::Datagrams;
use kernel::Time;
use std::cell::RefCell;
use std::rc::Rc;

/// Traffic of both directions, which the run provides in its environment. Empty by default.
#[derive(Clone, Default)]
pub struct Offered {
    /// Frames from the network.
    pub network: FrameTraffic,
    /// Frames that the host sends.
    pub host: FrameTraffic,
    /// Acknowledgements of the host for received frames, if any; they have priority over `host`.
    pub replies: Option<Acknowledgements>,
    /// Minimum number of cycles of the line's clock from the beginning of a frame from the network to that of the next.
    pub gap_cycles: u64,
}

/// Frames and their times.
#[derive(Clone, Default)]
pub struct FrameTraffic {
    /// The frames.
    pub frames: Frames,
    /// Their times, from `start` on.
    pub pace: Pace,
    /// When the first frame can be due, from the start of the traffic.
    pub start: Time,
}

/// A frame of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedFrame {
    /// From destination address to the last byte before the frame check sequence.
    pub bytes: Rc<[u8]>,
    /// True if the frame check sequence is correct.
    pub is_intact: bool,
}

/// A sequence of frames, each of which can be generated from its number.
#[derive(Clone)]
pub enum Frames {
    /// A fixed list.
    List(Rc<[ListedFrame]>),
    /// UDP datagrams.
    Datagrams(Datagrams),
    /// Endless TCP acknowledgements.
    Acknowledgements(Acknowledgements),
    /// Frames that another card sends while the run continues, numbered in the order in which they pass the line.
    Line(LineFrames),
}

/// The frames that have passed a line so far.
#[derive(Clone, Default)]
pub struct LineFrames(Rc<RefCell<Vec<Rc<[u8]>>>>);

impl LineFrames {
    /// Adds a frame. Returns its number.
    pub fn push(&self, bytes: Rc<[u8]>) -> u64 {
        let mut frames = self.0.borrow_mut();
        frames.push(bytes);
        frames.len() as u64 - 1
    }

    fn frame(&self, id: u64) -> Option<Rc<[u8]>> {
        self.0.borrow().get(usize::try_from(id).ok()?).cloned()
    }
}

impl Default for Frames {
    fn default() -> Frames {
        Frames::List(Rc::from([]))
    }
}

/// When frames are due, from the start of the traffic.
#[derive(Clone, Default)]
pub enum Pace {
    /// As fast as they are accepted.
    #[default]
    Saturating,
    /// At regular intervals; the first at once.
    Every(Time),
    /// At these times in ascending order, one for each frame. Frames beyond the list are not sent.
    At(Rc<[Time]>),
}

/// Traffic with an error.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what each field is")]
pub enum TrafficError {
    #[error("frame {id} has {bytes} bytes without check sequence, must be {least} to {most}")]
    Length { id: u64, bytes: usize, least: usize, most: usize },
    #[error("the size of datagrams is {bytes}, must be {least} to {most} bytes, without check sequence")]
    Datagram { bytes: usize, least: usize, most: usize },
    #[error("datagrams have no size, must have at least one")]
    NoSizes,
    #[error("acknowledgements are for every 0 frames, must be 1 or more")]
    NoFrames,
    #[error("frame {id} is to be sent before frame {}, must be at the same time or later", id - 1)]
    Order { id: u64 },
}

impl Frames {
    /// A list of frames with correct check sequences.
    pub fn list(frames: impl IntoIterator<Item = Vec<u8>>) -> Frames {
        Frames::List(frames.into_iter().map(|bytes| ListedFrame { bytes: bytes.into(), is_intact: true }).collect())
    }

    /// Frame number `id`, or `None` beyond the last.
    pub fn frame(&self, id: u64) -> Option<ListedFrame> {
        match self {
            Frames::List(frames) => frames.get(usize::try_from(id).ok()?).cloned(),
            Frames::Datagrams(datagrams) => {
                datagrams.frame(id).map(|bytes| ListedFrame { bytes: bytes.into(), is_intact: true })
            }
            Frames::Acknowledgements(acknowledgements) => {
                Some(ListedFrame { bytes: acknowledgements.frame(id).into(), is_intact: true })
            }
            Frames::Line(frames) => frames.frame(id).map(|bytes| ListedFrame { bytes, is_intact: true }),
        }
    }

    /// Number of frames; `None` if endless.
    pub fn count(&self) -> Option<u64> {
        match self {
            Frames::List(frames) => Some(frames.len() as u64),
            Frames::Datagrams(datagrams) => datagrams.count,
            Frames::Acknowledgements(_) | Frames::Line(_) => None,
        }
    }

    /// Checks that each frame has `least` to `most` bytes without check sequence.
    pub fn check(&self, least: usize, most: usize) -> Result<(), TrafficError> {
        match self {
            Frames::List(frames) => {
                let wrong = frames.iter().position(|frame| !(least..=most).contains(&frame.bytes.len()));
                wrong.map_or(Ok(()), |id| {
                    Err(TrafficError::Length { id: id as u64, bytes: frames[id].bytes.len(), least, most })
                })
            }
            Frames::Datagrams(datagrams) => datagrams.check(most),
            Frames::Acknowledgements(acknowledgements) => acknowledgements.check(),
            Frames::Line(_) => Ok(()), // Each frame is checked when it comes.
        }
    }
}

impl FrameTraffic {
    /// Checks that each frame has `least` to `most` bytes without check sequence, and that the times ascend.
    pub fn check(&self, least: usize, most: usize) -> Result<(), TrafficError> {
        if let Pace::At(times) = &self.pace
            && let Some(earlier) = times.windows(2).position(|pair| pair[0] > pair[1])
        {
            return Err(TrafficError::Order { id: earlier as u64 + 1 });
        }
        self.frames.check(least, most)
    }

    /// Number of frames; `None` if endless.
    pub fn count(&self) -> Option<u64> {
        let timed = match &self.pace {
            Pace::At(times) => Some(times.len() as u64),
            Pace::Saturating | Pace::Every(_) => None,
        };
        [self.frames.count(), timed].into_iter().flatten().min()
    }

    /// Due time of frame `id`, from the start of the traffic; `None` beyond the last.
    pub fn due(&self, id: u64) -> Option<Time> {
        if self.count().is_some_and(|count| id >= count) {
            return None;
        }
        let due = match &self.pace {
            Pace::Saturating => Time::ZERO,
            Pace::Every(span) => Time::from_fs(span.fs().checked_mul(id)?),
            Pace::At(times) => *times.get(usize::try_from(id).ok()?)?,
        };
        due.fs().checked_add(self.start.fs()).map(Time::from_fs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(traffic: FrameTraffic, want: Expect) {
        let due: Vec<_> = (0..4).map(|id| traffic.due(id).map_or("-".to_owned(), |time| time.to_string())).collect();
        want.assert_eq(&format!("{:?} of {:?}", due.join(", "), traffic.count()));
    }

    #[test]
    fn frames_are_due_by_their_pace() {
        let frames = Frames::list([vec![0; 60], vec![1; 60], vec![2; 60]]);
        let paced = |pace| FrameTraffic { frames: frames.clone(), pace, start: Time::ZERO };
        check(paced(Pace::Saturating), expect![[r#""0 ns, 0 ns, 0 ns, -" of Some(3)"#]]);
        check(paced(Pace::Every(Time::from_ns(7))), expect![[r#""0 ns, 7 ns, 14 ns, -" of Some(3)"#]]);
        let times = [Time::from_ns(1), Time::from_ns(5)];
        let late = FrameTraffic { start: Time::from_ns(100), ..paced(Pace::Every(Time::from_ns(7))) };
        check(late, expect![[r#""100 ns, 107 ns, 114 ns, -" of Some(3)"#]]);
        check(paced(Pace::At(Rc::from(times))), expect![[r#""1 ns, 5 ns, -, -" of Some(2)"#]]);
    }

    #[test]
    fn invalid_traffic_is_refused() {
        let frames = Frames::list([vec![0; 60], vec![1; 59]]);
        let late_first = Pace::At(Rc::from([Time::from_ns(2), Time::from_ns(1)]));
        let error = |traffic: FrameTraffic| traffic.check(60, 1514).expect_err("it is wrong").to_string();
        expect!["frame 1 has 59 bytes without check sequence, must be 60 to 1514"]
            .assert_eq(&error(FrameTraffic { frames: frames.clone(), ..FrameTraffic::default() }));
        expect!["frame 1 is to be sent before frame 0, must be at the same time or later"]
            .assert_eq(&error(FrameTraffic { frames, pace: late_first, start: Time::ZERO }));
    }
}
