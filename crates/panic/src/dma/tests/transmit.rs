//! Packets from the host.

use super::*;

#[test]
fn a_transmit_queue_uses_its_chain() {
    check(
        &small(),
        "",
        &[],
        &[(0, &[(10, 1, 130), (11, 2, 0)]), (1, &[(10, 3, 64)]), (2, &[(30, 4, 64)])],
        expect![[r#"
            18   out #1 to 2 Exit: Arrived 15 Entered 17
            19   out =
            20   out =
            21   out |
            22   out #3 to 0 Entry: Arrived 18 Entered 21
            23   out |
            24   out #2 to 2 Exit: Arrived 19 Entered 23
            25   out |
            33   dropped #4 no_exit
        "#]],
    );
}

#[test]
fn a_packet_of_the_host_takes_a_doorbell_and_two_reads() {
    // 100 cycles for the doorbell, then twice 100 to the host, 50 in it, and 100 back.
    check(
        &packets(),
        "",
        &[],
        &[(0, &[(10, 1, 64)])],
        expect![[r#"
            616  out #1 to 2 Exit: Arrived 615 Entered 615
            617  out |
        "#]],
    );
}

#[test]
fn a_packet_that_fits_no_buffer_is_not_sent() {
    check(
        &small(),
        "",
        &[],
        &[(0, &[(10, 1, 2049), (10, 2, 100)])],
        expect![[r#"
            10   dropped #1 long_for_host_buffer
            16   out #2 to 2 Exit: Arrived 14 Entered 15
            17   out =
            18   out |
        "#]],
    );
}

/// The prototype with a delay unit of 20 cycles as its only service, to which transmit queue 1 is bound.
#[test]
fn in_the_whole_nic_host_packets_go_through_their_chain_to_the_wire() {
    let preset = include_str!("../../../../../presets/panic.toml");
    let mut params: PanicParams = toml::from_str(preset).expect("the preset must be valid");
    let delay =
        DelayUnitParams { service: ServiceTime::Fixed { cycles: 20 }, gap_cycles: 2, start_cycles: 0, grant_cycles: 0 };
    let of_no_name = || ServiceSpec {
        name: String::new(),
        units: 1,
        credits: 2,
        engine: EngineParams::Delay(delay),
        flow_affinity: false,
        policy: PolicyTree::of(PolicyParams::Fifo),
    };
    params.services = (0..4).map(|i| ServiceSpec { name: format!("delay {i}"), ..of_no_name() }).collect();
    let kept = Rc::new(RefCell::new(Lines::default()));
    let network = Listed([(1, 9, 64)].into());
    let mut outside = Outside::new(vec![Box::new(network)], Rc::new(RefCell::new(Bound)), kept.clone());
    outside.transmits = vec![Box::new(Listed([(100, 1, 64)].into())), Box::new(Listed([(100, 2, 128)].into()))];
    let outcome = Panic::new(&params, 1, outside).system.run_until(Time::from_ns(10_000));
    assert_eq!(outcome, Outcome::Quiet, "the run must end quietly");
    expect![[r#"
        #9 Network(0): Arrived 1 Entered 2 Leaving 13 Left 15
        #1 Network(0): Arrived 104 Entered 104 Leaving 115 Left 117
        #2 Network(0): Arrived 105 Entered 106 Queued 117 Scheduled 150 Taken 161 Begun 162 Finished 182 Done 183 Leaving 194 Left 197
    "#]].assert_eq(&kept.borrow().0);
}
