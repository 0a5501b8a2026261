//! Release of associations, asked for, announced and done (TS 29.244, 6.2.8, 5.18).
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::net::{CP, Net, UP, cp_config, up_config};
use sluice_n4::{Change, DownReason, Event, FailReason, Features, RequestError, Role};
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::value::UpFunctionFeatures;

#[test]
fn the_cp_function_releases_and_both_ends_are_told() {
    let mut net = Net::associated();
    let (at_cp, at_up) = (net.id(CP), net.id(UP));
    net.hosts[CP].think_ms = 60_000;
    net.send(UP, 3);
    net.run_ms(10);
    net.call(CP, |cp, now, out| cp.release(now, at_cp, out))
        .unwrap();
    net.run_ms(10);
    let reason = DownReason::Released;
    assert_eq!(
        net.events(CP),
        [Event::AssociationDown {
            association: at_cp,
            reason
        }]
    );
    let failed = Event::RequestFailed {
        association: at_up,
        tag: 3,
        reason: FailReason::AssociationEnded,
    };
    assert_eq!(
        net.events(UP),
        [
            failed,
            Event::AssociationDown {
                association: at_up,
                reason
            }
        ]
    );
    net.run_ms(60_000);
    assert_eq!(
        (net.associations(CP), net.associations(UP)),
        (0, 0),
        "and it stays so"
    );
}

#[test]
fn a_release_ends_without_answer_too() {
    let mut net = Net::associated();
    let association = net.id(CP);
    net.loss_percent = 100;
    net.call(CP, |cp, now, out| cp.release(now, association, out))
        .unwrap();
    net.run_ms(3999);
    assert_eq!(net.events(CP), []);
    net.run_ms(1);
    let reason = DownReason::Released;
    assert_eq!(
        net.events(CP),
        [Event::AssociationDown {
            association,
            reason
        }]
    );
    let again = net.call(CP, |cp, now, out| cp.release(now, association, out));
    assert_eq!(again, Err(RequestError::NoAssociation));
}

#[test]
fn a_up_function_cannot_release_but_asks_and_is_given_its_graceful_period() {
    let mut net = Net::associated();
    let (at_cp, at_up) = (net.id(CP), net.id(UP));
    let refused = net.call(UP, |up, now, out| up.release(now, at_up, out));
    assert_eq!(refused, Err(RequestError::WrongRole(Role::Up)));
    let ask = Change::ReleaseRequest {
        graceful_period_s: Some(20),
    };
    net.call(UP, |up, now, out| up.update(now, at_up, ask, out))
        .unwrap();
    net.run_ms(10);
    let asked = Event::ReleaseRequested {
        association: at_cp,
        graceful_period_s: Some(20),
    };
    assert_eq!(net.events(CP), [asked]);
    assert!(
        net.hosts[CP]
            .endpoint
            .association(at_cp)
            .unwrap()
            .is_ending()
    );
    net.send(CP, 5);
    net.run_ms(19_000);
    assert_eq!(
        net.hosts[CP].answered,
        [(5, 5)],
        "sessions are served meanwhile"
    );
    net.run_ms(1_100);
    let down = |association| Event::AssociationDown {
        association,
        reason: DownReason::Released,
    };
    // Before, the CP function has announced it and waited for the UP function's reports.
    let prepared = Event::ReleasePreparation { association: at_up };
    let sent = Change::UsageReportsSent;
    net.call(UP, |up, now, out| up.update(now, at_up, sent, out))
        .unwrap();
    net.run_ms(10);
    let mut at_cp_told = net.events(CP);
    assert_eq!(at_cp_told.pop(), Some(down(at_cp)));
    let accepted = Event::UpdateAnswered {
        association: at_up,
        cause: Some(Cause::REQUEST_ACCEPTED),
    };
    let over = Event::GracefulPeriodOver { association: at_up };
    let events: Vec<_> = net
        .events(UP)
        .into_iter()
        .filter(|event| *event != over)
        .collect();
    assert_eq!(events, [accepted.clone(), prepared, accepted, down(at_up)]);
}

#[test]
fn a_up_function_that_reports_nothing_is_released_all_the_same() {
    let mut net = Net::associated();
    let (at_cp, at_up) = (net.id(CP), net.id(UP));
    let ask = Change::ReleaseRequest {
        graceful_period_s: Some(2),
    };
    net.call(UP, |up, now, out| up.update(now, at_up, ask, out))
        .unwrap();
    net.run_ms(11_000);
    let down = |event: &Event| matches!(event, Event::AssociationDown { .. });
    assert!(!net.events(CP).iter().any(down), "it waits");
    net.run_ms(1_500);
    assert_eq!(
        net.events(CP),
        [Event::AssociationDown {
            association: at_cp,
            reason: DownReason::Released
        }]
    );
}

#[test]
fn a_release_asked_for_without_a_period_comes_at_once() {
    let mut up = up_config(1000);
    up.features = Features::of_up(UpFunctionFeatures::FTUP);
    let mut net = Net::with(cp_config(1000), up);
    net.associate(CP, UP);
    net.run_ms(1);
    let at_up = net.id(UP);
    let ask = Change::ReleaseRequest {
        graceful_period_s: None,
    };
    net.call(UP, |up, now, out| up.update(now, at_up, ask, out))
        .unwrap();
    net.run_ms(10);
    assert_eq!((net.associations(CP), net.associations(UP)), (0, 0));
}

#[test]
fn the_up_function_learns_that_nobody_released_in_time() {
    let mut net = Net::associated();
    let association = net.id(UP);
    net.loss_percent = 100;
    let ask = Change::ReleaseRequest {
        graceful_period_s: Some(6),
    };
    net.call(UP, |up, now, out| up.update(now, association, ask, out))
        .unwrap();
    net.run_ms(6000);
    assert_eq!(
        net.events(UP),
        [
            Event::UpdateAnswered {
                association,
                cause: None
            },
            Event::GracefulPeriodOver { association },
        ]
    );
    net.call(UP, |up, _, _| up.forget(association)).unwrap();
    let reason = DownReason::Forgotten;
    assert_eq!(
        net.events(UP),
        [Event::AssociationDown {
            association,
            reason
        }]
    );
}

#[test]
fn when_the_timers_were_looked_at_late_nothing_stays_due() {
    let mut net = Net::associated();
    let at_up = net.id(UP);
    let ask = Change::ReleaseRequest {
        graceful_period_s: Some(4),
    };
    net.call(UP, |up, now, out| up.update(now, at_up, ask, out))
        .unwrap();
    net.run_ms(10);
    // The period and a heartbeat are over at once.
    net.now = net.now.plus_ms(30_000);
    net.call(UP, |up, now, out| up.tick(now, out));
    assert!(net.hosts[UP].endpoint.next_deadline() > Some(net.now));
}

#[test]
fn an_announced_release_lets_the_up_function_report_first() {
    let mut net = Net::associated();
    let (at_cp, at_up) = (net.id(CP), net.id(UP));
    let prepare = Change::ReleasePreparation;
    net.call(CP, |cp, now, out| cp.update(now, at_cp, prepare, out))
        .unwrap();
    net.run_ms(10);
    assert_eq!(
        net.events(UP),
        [Event::ReleasePreparation { association: at_up }]
    );
    net.send(UP, 8);
    net.run_ms(10);
    assert_eq!(net.hosts[CP].applied[&8], 1);
    let sent = Change::UsageReportsSent;
    net.call(UP, |up, now, out| up.update(now, at_up, sent, out))
        .unwrap();
    net.run_ms(10);
    let cause = Some(Cause::REQUEST_ACCEPTED);
    assert_eq!(
        net.events(CP),
        [
            Event::UpdateAnswered {
                association: at_cp,
                cause
            },
            Event::ReleaseRequested {
                association: at_cp,
                graceful_period_s: None
            },
            Event::AssociationDown {
                association: at_cp,
                reason: DownReason::Released
            },
        ]
    );
    assert_eq!(net.associations(UP), 0);
}

#[test]
fn a_release_is_announced_only_between_functions_with_epfar() {
    let mut up = up_config(1000);
    up.features = Features::of_up(UpFunctionFeatures::FTUP);
    let mut net = Net::with(cp_config(1000), up);
    let at_cp = net.associate(CP, UP);
    net.run_ms(1);
    let prepare = Change::ReleasePreparation;
    let refused = net.call(CP, |cp, now, out| cp.update(now, at_cp, prepare, out));
    assert_eq!(refused, Err(RequestError::NoEpfar));
    let sent = Change::UsageReportsSent;
    let refused = net.call(CP, |cp, now, out| cp.update(now, at_cp, sent, out));
    assert_eq!(refused, Err(RequestError::WrongRole(Role::Cp)));
}

#[test]
fn a_function_that_is_about_to_stop_takes_no_association() {
    let mut net = Net::new();
    net.call(UP, |up, _, _| up.refuse_setups());
    let association = net.associate(CP, UP);
    net.run_ms(10);
    let cause = Cause::NO_RESOURCES_AVAILABLE;
    assert_eq!(
        net.events(CP),
        [Event::SetupRejected { association, cause }]
    );
    assert_eq!(net.associations(UP), 0);
}

#[test]
fn an_association_to_come_is_set_up_at_its_time_or_when_the_peer_comes() {
    for comes in [false, true] {
        let mut net = Net::new();
        let at = net.now.plus_ms(5_000);
        let to = net.hosts[UP].address;
        let begun = net.call(CP, |cp, _, _| cp.associate_later(to, false, at));
        let association = begun.unwrap();
        net.run_ms(4_000);
        assert_eq!((net.events(CP), net.associations(UP)), (vec![], 0));
        if comes {
            net.associate(UP, CP);
        }
        net.run_ms(if comes { 10 } else { 1_010 });
        let up = Event::AssociationUp {
            association,
            sessions_retained: false,
        };
        assert_eq!(net.events(CP), [up]);
    }
}
