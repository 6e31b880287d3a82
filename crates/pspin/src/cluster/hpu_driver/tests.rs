//! Tests of a driver, access by access.

use super::*;
use crate::protocol::{Context, Region};
use crate::testing::{paper_params, params};
use std::rc::Rc;

fn task(handler: u32) -> HpuTask {
    let context = Context { scratchpads: vec![Region { addr: 0x40, size: 0x80 }; 4], ..Context::default() };
    let task = Task {
        packet: PacketId(7),
        taken: 0,
        stage: Stage::Payload,
        msgid: 6,
        handler: Region { addr: handler, size: 4096 },
        context: Rc::new(context),
        pkt_addr: 0x1c40_0000,
        pkt_size: 64,
        l2_size: 64,
        trigger_feedback: true,
    };
    HpuTask { task, pkt_ptr: 0x1000_4400 }
}

/// Returns true if the feedback may leave in cycle `at`.
fn may_leave(driver: &HpuDriver, at: Cycle) -> bool {
    driver.leaves_at().is_some_and(|from| from <= at)
}

#[test]
fn a_task_is_seen_from_the_next_cycle_and_ends_at_the_doorbell() {
    let mut driver = HpuDriver::new(0, 0, &paper_params());
    let mut none = None;
    assert_eq!(driver.access(3, 0, None, &mut none), Answer::Blocked);
    driver.first_request(3);
    assert!(!driver.is_ready(3) && driver.is_ready(4));
    driver.accept(10, task(0x1d00_0100));
    assert_eq!(driver.access(10, 0, None, &mut none), Answer::Granted(11, 0x1d00_0100));
    assert_eq!(driver.access(12, 0x1c, None, &mut none), Answer::Granted(12, 0x1040_0000 + 0x14400 + 0x40));
    assert_eq!(driver.access(13, 0x48, None, &mut none), Answer::Granted(13, 2));
    assert_eq!(driver.access(14, 0x4c, None, &mut none), Answer::Granted(14, 6));
    assert_eq!(driver.access(20, DOORBELL, None, &mut none), Answer::Granted(20, 0));
    assert!(!may_leave(&driver, 20) && may_leave(&driver, 21));
    assert!(driver.is_ready(21) && !driver.is_ready(20));
}

#[test]
fn a_task_without_a_handler_ends_by_itself() {
    let mut driver = HpuDriver::new(0, 0, &paper_params());
    driver.first_request(0);
    driver.accept(10, task(0));
    assert!(may_leave(&driver, 12) && !may_leave(&driver, 11));
}

#[test]
fn commands_hold_the_feedback_back_and_the_feedback_holds_commands_back() {
    let mut driver = HpuDriver::new(1, 3, &paper_params());
    let mut issued = None;
    driver.first_request(0);
    driver.accept(5, task(0x1d00_0100));
    driver.access(8, 0x8c, Some(2), &mut issued);
    driver.access(9, 0x90 + 8, Some(0x1000_4400), &mut issued);
    assert_eq!(driver.access(10, ISSUE, None, &mut issued), Answer::Granted(10, 0));
    let command = issued.take().unwrap();
    assert_eq!((command.target, command.words[2], command.id.core), (CommandTarget::NicSend, 0x1000_4400, 3));
    assert_eq!(driver.access(11, 0x84, Some(0), &mut issued), Answer::Blocked);
    driver.access(12, DOORBELL, Some(0), &mut issued);
    assert!(!may_leave(&driver, 30));
    driver.accept(13, task(0x1d00_0100));
    assert_eq!(driver.access(15, ISSUE, None, &mut issued), Answer::Blocked);
    assert_eq!(driver.command_done(20, 0), Some((PacketId(7), CommandTarget::NicSend)));
    assert!(!may_leave(&driver, 20) && may_leave(&driver, 21));
    driver.leave(30);
    assert_eq!(driver.access(31, ISSUE, None, &mut issued), Answer::Granted(31, 0));
}

/// The handle that a task's only issue returns, and that of its command. The issue waits because the feedback of the
/// previous task waits for a command with handle 0.
fn handle_of_a_held_issue(params: &crate::PspinParams) -> (Answer, u8) {
    let mut driver = HpuDriver::new(0, 0, params);
    let mut issued = None;
    driver.first_request(0);
    driver.accept(5, task(0x1d00_0100));
    assert_eq!(driver.access(10, ISSUE, None, &mut issued), Answer::Granted(10, 0));
    driver.access(12, DOORBELL, None, &mut issued);
    driver.accept(13, task(0x1d00_0100));
    for cycle in [15, 20] {
        assert_eq!(driver.access(cycle, ISSUE, None, &mut issued), Answer::Blocked);
    }
    driver.command_done(20, 0);
    driver.leave(30);
    let answer = driver.access(31, ISSUE, None, &mut issued);
    // The next issue does not wait, so it returns the handle of its command.
    assert_eq!(driver.access(40, ISSUE, None, &mut None), Answer::Granted(40, 1));
    (answer, issued.expect("a command").id.local)
}

#[test]
fn an_issue_that_was_held_returns_the_handle_that_was_free_when_it_began_to_wait() {
    assert_eq!(handle_of_a_held_issue(&params()), (Answer::Granted(31, 1), 0));
    assert_eq!(handle_of_a_held_issue(&paper_params()), (Answer::Granted(31, 0), 0));
}

#[test]
fn an_issue_that_waits_for_a_handle_returns_the_last_one_or_its_own() {
    for (params, shown) in [(params(), 3), (paper_params(), 1)] {
        let mut driver = HpuDriver::new(0, 0, &params);
        let mut issued = None;
        driver.first_request(0);
        driver.accept(5, task(0x1d00_0100));
        for cycle in 10..14 {
            driver.access(cycle, ISSUE, None, &mut issued);
        }
        assert_eq!(driver.access(14, ISSUE, None, &mut issued), Answer::Blocked);
        driver.command_done(20, 1);
        assert_eq!(driver.access(20, ISSUE, None, &mut issued), Answer::Granted(20, shown));
        assert_eq!(issued.expect("a command").id.local, 1);
    }
}

#[test]
fn a_second_doorbell_waits_for_the_first_feedback() {
    let mut driver = HpuDriver::new(0, 0, &paper_params());
    let mut issued = None;
    driver.first_request(0);
    driver.transfers = 1;
    for start in [10, 20] {
        driver.accept(start, task(0x1d00_0100));
        driver.access(start + 5, DOORBELL, None, &mut issued);
    }
    assert!(!driver.is_ready(100));
    driver.transfers = 0;
    driver.leave(100);
    assert!(!driver.is_ready(101) && !may_leave(&driver, 101));
    assert!(driver.is_ready(102) && may_leave(&driver, 102));
}

#[test]
fn another_context_waits_for_the_end_of_the_one_before_and_for_a_clear_core() {
    let mut driver = HpuDriver::new(0, 0, &paper_params());
    let mut issued = None;
    driver.first_request(0);
    driver.accept(5, task(0x1d00_0100));
    assert_eq!(driver.access(6, HANDLER, None, &mut issued), Answer::Granted(6, 0x1d00_0100));
    driver.transfers = 1;
    driver.access(20, DOORBELL, None, &mut issued);
    let mut other = task(0x1d00_0200);
    other.task.context = Rc::new(Context { id: 1, ..Context::default() });
    driver.accept(22, other);
    assert_eq!(driver.access(23, HANDLER, None, &mut issued), Answer::Blocked);
    driver.transfers = 0;
    driver.leave(30);
    assert_eq!(driver.access(31, HANDLER, None, &mut issued), Answer::OtherContext);
    // A runtime that does not know this exception: its report is not an error, and its doorbell ends no task.
    assert_eq!(driver.report(40, 27, Trapped::default(), &mut issued), Answer::Granted(40, 0));
    assert_eq!(driver.access(41, DOORBELL, None, &mut issued), Answer::Granted(41, 0));
    assert_eq!(driver.access(50, HANDLER, None, &mut issued), Answer::Granted(50, 0x1d00_0200));
    assert!(issued.is_none() && !driver.has_done());
}

#[test]
fn sixteen_transfers_wrap_the_count_and_the_feedback_leaves() {
    for (params, leaves) in [(params(), [false, true, false]), (paper_params(), [false; 3])] {
        let mut driver = HpuDriver::new(0, 0, &params);
        driver.first_request(0);
        driver.accept(5, task(0x1d00_0100));
        driver.access(12, DOORBELL, None, &mut None);
        let seen = [15, 16, 17].map(|transfers| {
            driver.transfers = transfers;
            may_leave(&driver, 20)
        });
        assert_eq!(seen, leaves);
    }
}

#[test]
fn cmd_test_answers_for_handle_0_or_for_the_one_written() {
    for (params, is_done) in [(params(), 1), (paper_params(), 0)] {
        let mut driver = HpuDriver::new(0, 0, &params);
        let mut issued = None;
        driver.first_request(0);
        driver.accept(5, task(0x1d00_0100));
        for cycle in [10, 11] {
            driver.access(cycle, ISSUE, None, &mut issued);
        }
        driver.command_done(15, 0);
        driver.access(16, 0x88, Some(1), &mut issued);
        assert_eq!(driver.access(17, 0x88, None, &mut issued), Answer::Granted(17, is_done));
    }
}
