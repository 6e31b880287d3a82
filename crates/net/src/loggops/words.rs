//! The results of a rank as words, for another process.

use super::gather::RankResult;
use super::rank::{Arrived, OpTimes, Why};
use kernel::Time;

/// Stands for no value: times and numbers of a finished run are smaller.
const NONE: u64 = u64::MAX;

/// Words of [`OpTimes`] and of [`Arrived`].
const OP: usize = 7;
const MESSAGE: usize = 10;

impl RankResult {
    /// Adds the results to the end of `bytes`.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let mut put = |words: &[u64]| words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        let lengths =
            [self.times.len(), self.messages.len(), self.numbers.len(), self.waiting.len(), self.left_over.len()];
        put(&lengths.map(|len| len as u64));
        put(&[self.end.0.fs(), word_of(self.end.1), self.n_done as u64]);
        self.times.iter().for_each(|times| put(&words_of_times(times)));
        self.messages.iter().chain(&self.left_over).for_each(|message| put(&words_of_message(message)));
        let pairs = self.numbers.iter().map(|(&number, &op)| (number, op)).chain(self.waiting.iter().copied());
        pairs.for_each(|(one, other)| put(&[pair(one, other)]));
    }

    /// Takes the results of a rank from the front of `bytes`; `None` if they are cut off or damaged.
    pub fn read(bytes: &mut &[u8]) -> Option<RankResult> {
        let [n_times, n_messages, n_numbers, n_waiting, n_left] = take::<5>(bytes)?;
        let [end, why, n_done] = take::<3>(bytes)?;
        let pair = |bytes: &mut &[u8]| take::<1>(bytes).map(|[word]| unpair(word));
        Some(RankResult {
            times: (0..n_times).map(|_| times_of(take(bytes)?)).collect::<Option<_>>()?,
            messages: (0..n_messages).map(|_| message_of(take(bytes)?)).collect::<Option<_>>()?,
            left_over: (0..n_left).map(|_| message_of(take(bytes)?)).collect::<Option<_>>()?,
            numbers: (0..n_numbers).map(|_| pair(bytes)).collect::<Option<_>>()?,
            waiting: (0..n_waiting).map(|_| pair(bytes)).collect::<Option<_>>()?,
            end: (Time::from_fs(end), why_of(why)?),
            n_done: usize::try_from(n_done).ok()?,
        })
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u64; N]> {
    let (words, rest) = bytes.split_at_checked(8 * N)?;
    *bytes = rest;
    let mut all = [0; N];
    for (word, bytes) in all.iter_mut().zip(words.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(all)
}

fn pair(one: u32, other: u32) -> u64 {
    u64::from(one) << 32 | u64::from(other)
}

fn unpair(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

fn option(number: Option<u32>) -> u64 {
    number.map_or(NONE, u64::from)
}

fn number_of(word: u64) -> Option<u32> {
    (word != NONE).then_some(word as u32)
}

fn word_of(why: Why) -> u64 {
    let (kind, number) = match why {
        Why::Start => (0, 0),
        Why::End(op) => (1, op),
        Why::Begin(op) => (2, op),
        Why::Held(op) => (3, op),
        Why::SendGap(op) => (4, op),
        Why::Way(message) => (5, message),
        Why::Handled(message) => (6, message),
        Why::RecvGap(message) => (7, message),
    };
    pair(kind, number)
}

fn why_of(word: u64) -> Option<Why> {
    Some(match unpair(word) {
        (0, _) => Why::Start,
        (1, op) => Why::End(op),
        (2, op) => Why::Begin(op),
        (3, op) => Why::Held(op),
        (4, op) => Why::SendGap(op),
        (5, message) => Why::Way(message),
        (6, message) => Why::Handled(message),
        (7, message) => Why::RecvGap(message),
        _ => return None,
    })
}

fn words_of_times(times: &OpTimes) -> [u64; OP] {
    let OpTimes { posted, freed, started, why, left, done, message } = times;
    let done = done.map_or(NONE, Time::fs);
    [posted.fs(), word_of(*freed), started.fs(), word_of(*why), left.fs(), done, option(*message)]
}

fn times_of([posted, freed, started, why, left, done, message]: [u64; OP]) -> Option<OpTimes> {
    Some(OpTimes {
        posted: Time::from_fs(posted),
        freed: why_of(freed)?,
        started: Time::from_fs(started),
        why: why_of(why)?,
        left: Time::from_fs(left),
        done: (done != NONE).then_some(Time::from_fs(done)),
        message: number_of(message),
    })
}

fn words_of_message(message: &Arrived) -> [u64; MESSAGE] {
    let (read_at, is_late) = message.read_at.map_or((NONE, false), |(at, is_late)| (at.fs(), is_late));
    let flags = [message.is_announced, message.has_operation, is_late];
    let flags = flags.iter().rev().fold(0, |bits, &flag| bits << 1 | u64::from(flag));
    [
        pair(message.from, message.number),
        u64::from(message.tag) | u64::from(message.cpu) << 32 | u64::from(message.nic) << 40 | flags << 48,
        message.size,
        message.arrived.fs(),
        read_at,
        option(message.read),
        message.begun.fs(),
        word_of(message.why),
        message.ended.fs(),
        option(message.recv),
    ]
}

fn message_of(words: [u64; MESSAGE]) -> Option<Arrived> {
    let [sender, tag, size, arrived, read_at, read, begun, why, ended, recv] = words;
    let (from, number) = unpair(sender);
    let flag = |bit: u32| tag >> (48 + bit) & 1 == 1;
    Some(Arrived {
        from,
        number,
        tag: tag as u32,
        size,
        cpu: (tag >> 32) as u8,
        nic: (tag >> 40) as u8,
        is_announced: flag(0),
        has_operation: flag(1),
        arrived: Time::from_fs(arrived),
        read_at: (read_at != NONE).then_some((Time::from_fs(read_at), flag(2))),
        read: number_of(read),
        begun: Time::from_fs(begun),
        why: why_of(why)?,
        ended: Time::from_fs(ended),
        recv: number_of(recv),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u32, read_at: Option<(Time, bool)>, why: Why) -> Arrived {
        let time = |fs| Time::from_fs(fs);
        Arrived {
            from: 3,
            number,
            tag: u32::MAX,
            size: 1 << 40,
            cpu: 255,
            nic: 7,
            is_announced: read_at.is_some(),
            has_operation: number == 1,
            arrived: time(10),
            read_at,
            read: read_at.map(|_| 9),
            begun: time(11),
            why,
            ended: time(12),
            recv: (number == 1).then_some(4),
        }
    }

    #[test]
    fn results_come_back_as_they_were() {
        let at = Time::from_fs(1 << 60);
        let times =
            |freed, why, done, message| OpTimes { posted: at, freed, started: at, why, left: at, done, message };
        let result = RankResult {
            times: vec![
                times(Why::Start, Why::End(1), None, None),
                times(Why::Begin(2), Why::Held(3), Some(at), Some(0)),
                times(Why::SendGap(4), Why::Way(5), Some(Time::ZERO), Some(u32::MAX)),
            ],
            messages: vec![
                message(0, None, Why::Handled(6)),
                message(1, Some((at, true)), Why::RecvGap(u32::MAX)),
                message(2, Some((at, false)), Why::Start),
            ],
            numbers: [(5, 0), (u32::MAX, 7)].into(),
            end: (at, Why::Handled(2)),
            n_done: 2,
            waiting: vec![(0, u32::MAX), (1, 4)],
            left_over: vec![message(1, None, Why::Way(1))],
        };
        let mut bytes = Vec::new();
        result.write(&mut bytes);
        let len = bytes.len();
        result.write(&mut bytes);
        let mut rest = &bytes[..];
        for _ in 0..2 {
            let found = RankResult::read(&mut rest).unwrap();
            assert_eq!(format!("{found:?}"), format!("{result:?}"));
        }
        assert!(rest.is_empty());
        for cut in 0..len {
            assert!(RankResult::read(&mut &bytes[..cut]).is_none(), "cut off at {cut}");
        }
    }
}
