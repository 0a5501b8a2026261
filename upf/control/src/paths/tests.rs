use super::*;
use core::net::Ipv4Addr;

const CONFIG: EchoConfig = EchoConfig {
    interval_s: 60,
    t3_ms: 3000,
    n3: 3,
};
const S: u64 = 1_000_000_000;

fn ends(number: u32) -> PathEnds {
    PathEnds {
        local: Ipv4Addr::new(192, 0, 2, 1).into(),
        remote: Ipv4Addr::from(0x0a00_0000 + number).into(),
    }
}

/// All requests from one second to another, in steps of a quarter; `answers` says which are answered at once.
fn run(
    paths: &mut Paths,
    from_s: u64,
    to_s: u64,
    mut answers: impl FnMut(Echo) -> bool,
) -> Vec<(u64, Echo)> {
    let mut sent = Vec::new();
    for step in from_s * 4..to_s * 4 {
        let now_ns = step * S / 4;
        while let Some(echo) = paths.next_echo(now_ns) {
            sent.push((now_ns, echo));
            if answers(echo) {
                assert!(paths.answered(echo.ends, echo.sequence, now_ns + 7));
            }
        }
    }
    sent
}

#[test]
fn a_peer_that_answers_is_asked_once_in_an_interval_and_never_before() {
    let mut paths = Paths::new(CONFIG);
    paths.begin(ends(1));
    let sent = run(&mut paths, 100, 100 + 3600, |_| true);
    let times: Vec<u64> = sent.iter().map(|(at, _)| *at).collect();
    assert_eq!(times[0], 100 * S, "it is asked at once");
    assert!(times.windows(2).all(|w| w[1] - w[0] >= 60 * S));
    assert!(times.windows(2).all(|w| w[1] - w[0] <= 68 * S));
    assert!(sent.windows(2).all(|w| w[0].1.sequence != w[1].1.sequence));
    assert_eq!(paths.take_changes(), []);
    let view = paths.view(ends(1)).unwrap();
    assert_eq!(
        (view.health, view.round_trip_ns),
        (Health::Answers, Some(7))
    );
}

#[test]
fn silence_is_a_failure_after_n3_requests_and_an_answer_is_the_recovery() {
    let mut paths = Paths::new(CONFIG);
    paths.begin(ends(1));
    let sent = run(&mut paths, 0, 9, |_| false);
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|(_, echo)| *echo == sent[0].1));
    assert_eq!(paths.take_changes(), []);
    run(&mut paths, 9, 10, |_| false);
    assert_eq!(paths.take_changes(), [Change::Failed(ends(1))]);
    assert_eq!(
        paths.view(ends(1)).unwrap().health,
        Health::Failed { since_ns: 9 * S }
    );
    // Further silence is nothing new; three requests in each interval.
    let sent = run(&mut paths, 10, 200, |_| false);
    assert_eq!((sent.len(), paths.take_changes()), (9, vec![]));
    // An answer to the second request of a try: its round trip is not known.
    let mut n = 0;
    run(&mut paths, 200, 300, |_| {
        n += 1;
        n == 2
    });
    assert_eq!(paths.take_changes(), [Change::Recovered(ends(1))]);
    let view = paths.view(ends(1)).unwrap();
    assert_eq!((view.health, view.round_trip_ns), (Health::Answers, None));
    let counts = paths.counts();
    assert_eq!(
        (counts.failures, counts.recoveries, counts.answering),
        (1, 1, 1)
    );
}

#[test]
fn only_the_answer_to_the_last_request_counts() {
    let mut paths = Paths::new(CONFIG);
    paths.begin(ends(1));
    let echo = paths.next_echo(0).unwrap();
    assert!(!paths.answered(ends(2), echo.sequence, 1));
    assert!(!paths.answered(ends(1), echo.sequence.wrapping_add(1), 1));
    let other = PathEnds {
        local: Ipv4Addr::new(192, 0, 2, 2).into(),
        ..ends(1)
    };
    assert!(!paths.answered(other, echo.sequence, 1));
    assert!(paths.answered(ends(1), echo.sequence, 1));
    assert!(!paths.answered(ends(1), echo.sequence, 1), "twice");
}

#[test]
fn what_could_not_be_sent_does_not_spoil_the_round_trip() {
    let mut paths = Paths::new(CONFIG);
    paths.begin(ends(1));
    let echo = paths.next_echo(0).unwrap();
    paths.not_sent(echo);
    let again = paths.next_echo(3 * S).unwrap();
    assert_eq!(again.sequence, echo.sequence);
    assert!(paths.answered(ends(1), echo.sequence, 3 * S + 9));
    assert_eq!(paths.view(ends(1)).unwrap().round_trip_ns, Some(9));
}

#[test]
fn what_could_not_be_sent_is_due_when_its_way_is_there_and_counts_once() {
    let mut paths = Paths::new(CONFIG);
    paths.begin(ends(1));
    let echo = paths.next_echo(0).unwrap();
    assert_eq!(paths.unsent().count(), 0);
    paths.ask_again(ends(1), 1);
    assert_eq!(paths.next_echo(1), None, "it was sent");
    paths.not_sent(echo);
    assert_eq!(paths.unsent().collect::<Vec<_>>(), [ends(1)]);
    paths.ask_again(ends(1), S);
    let again = paths.next_echo(S).unwrap();
    assert_eq!((again, paths.next_echo(S)), (echo, None));
    // Two more, and then it has failed: the one that was not sent is none of the three.
    let sent = run(&mut paths, 2, 10, |_| false);
    assert_eq!((sent.len(), paths.take_changes()), (2, vec![]));
    run(&mut paths, 10, 11, |_| false);
    assert_eq!(paths.take_changes(), [Change::Failed(ends(1))]);
    assert_eq!(paths.unsent().count(), 0);
    // One that goes is not asked for.
    paths.begin(ends(2));
    let echo = paths.next_echo(12 * S).unwrap();
    paths.not_sent(echo);
    paths.end(ends(2));
    assert_eq!(paths.unsent().count(), 0);
}

#[test]
fn a_path_that_failed_unheard_is_asked_as_soon_as_its_way_is_there() {
    let mut paths = Paths::new(CONFIG);
    paths.begin(ends(1));
    for at_s in 0..=9 {
        while let Some(echo) = paths.next_echo(at_s * S) {
            paths.not_sent(echo);
        }
    }
    assert_eq!(paths.take_changes(), [Change::Failed(ends(1))]);
    paths.ask_again(ends(1), 20 * S);
    let echo = paths.next_echo(20 * S).unwrap();
    assert!(paths.answered(ends(1), echo.sequence, 21 * S));
    assert_eq!(paths.take_changes(), [Change::Recovered(ends(1))]);
}

#[test]
fn unused_paths_go_and_failed_ones_are_asked_for_an_hour() {
    let mut paths = Paths::new(CONFIG);
    for number in [1, 2, 3] {
        paths.begin(ends(number));
    }
    run(&mut paths, 0, 100, |echo| echo.ends == ends(1));
    paths.take_changes();
    for number in [1, 2, 3] {
        paths.end(ends(number));
    }
    assert_eq!(paths.views().count(), 2);
    // One comes back, and is told of before it goes.
    run(&mut paths, 100, 300, |echo| echo.ends == ends(2));
    assert_eq!(paths.take_changes(), [Change::Recovered(ends(2))]);
    assert_eq!(paths.views().count(), 1);
    run(&mut paths, 300, 3600, |_| false);
    assert_eq!(paths.take_changes(), []);
    run(&mut paths, 3600, 4000, |_| false);
    assert_eq!(paths.take_changes(), [Change::Forgotten(ends(3))]);
    assert_eq!((paths.views().count(), paths.due.len()), (0, 0));
    // One that is used again in time stays.
    paths.begin(ends(4));
    run(&mut paths, 4000, 4100, |_| false);
    paths.end(ends(4));
    run(&mut paths, 4100, 5000, |_| false);
    paths.begin(ends(4));
    run(&mut paths, 5000, 12_000, |_| false);
    assert_eq!(paths.take_changes(), [Change::Failed(ends(4))]);
    assert_eq!(paths.views().count(), 1);
}

#[test]
fn five_thousand_paths_spread_out() {
    let mut paths = Paths::new(CONFIG);
    for number in 0..5000 {
        paths.begin(ends(number));
    }
    let sent = run(&mut paths, 0, 600, |_| true);
    let in_second = |s: u64| sent.iter().filter(|(at, _)| at / S == s).count();
    assert_eq!(in_second(0), 5000);
    let most = (300..600).map(in_second).max().unwrap();
    assert!(most < 400, "{most} in a second");
    assert_eq!(paths.counts().answering, 5000);
}

#[test]
fn without_an_interval_nobody_is_asked() {
    let mut paths = Paths::new(EchoConfig::default());
    paths.begin(ends(1));
    assert_eq!(
        (paths.next_echo(u64::MAX), paths.views().count()),
        (None, 0)
    );
    paths.end(ends(1));
}
