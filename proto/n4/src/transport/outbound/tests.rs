//! Requests sent: responses, retransmissions by T1 and N1, limits.

use super::*;

const REQUEST: MessageType = MessageType::HEARTBEAT_REQUEST;
const RESPONSE: MessageType = MessageType::HEARTBEAT_RESPONSE;

struct Sent(Vec<(SocketAddr, Vec<u8>)>);

impl Outbox for Sent {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.0.push((to, bytes.to_vec()));
    }
}

fn peer(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n], 8805))
}

fn outbound(in_flight: u32, first_sequence: u32) -> Outbound<u64> {
    Outbound::new(OutboundLimits {
        t1_ms: 1000,
        n1: 2,
        in_flight,
        in_flight_bytes: 8192,
        message_len: 4096,
        first_sequence: SequenceNumber::wrapping(first_sequence),
    })
}

fn send(outbound: &mut Outbound<u64>, now: Instant, to: SocketAddr, tag: u64) -> SequenceNumber {
    let sequence = outbound.reserve().expect("a place");
    outbound
        .keep(now, to, REQUEST, tag, &[tag as u8; 700])
        .expect("kept");
    sequence
}

#[test]
fn a_response_ends_its_request_once() {
    let mut outbound = outbound(4, 7);
    let sequence = send(&mut outbound, Instant(0), peer(1), 42);
    assert_eq!(sequence.get(), 7);
    assert_eq!(
        outbound.answer(peer(2), sequence, RESPONSE),
        Answer::Unmatched
    );
    let other_type = MessageType::SESSION_DELETION_RESPONSE;
    assert_eq!(
        outbound.answer(peer(1), sequence, other_type),
        Answer::Unmatched
    );
    assert_eq!(
        outbound.answer(peer(1), sequence.next(), RESPONSE),
        Answer::Unmatched
    );
    assert_eq!(outbound.answer(peer(1), sequence, RESPONSE), Answer::To(42));
    assert_eq!(
        outbound.answer(peer(1), sequence, RESPONSE),
        Answer::Unmatched
    );
    assert_eq!(outbound.next_deadline(), None);
}

#[test]
fn an_unanswered_request_is_sent_n1_times_more_and_then_given_up() {
    let (mut outbound, mut sent) = (outbound(4, 0), Sent(Vec::new()));
    send(&mut outbound, Instant(0), peer(1), 5);
    for round in 1..=2 {
        let now = outbound.next_deadline().expect("a deadline");
        assert_eq!(now, Instant(0).plus_ms(1000 * round));
        assert_eq!(outbound.expire(Instant(now.0 - 1), &mut sent), None);
        assert_eq!(
            outbound.expire(now, &mut sent),
            Some(Expiry::Retransmitted(REQUEST))
        );
    }
    let end = Instant(0).plus_ms(3000);
    assert_eq!(
        outbound.expire(end, &mut sent),
        Some(Expiry::GivenUp(REQUEST, 5))
    );
    assert_eq!(outbound.expire(end, &mut sent), None);
    assert_eq!(sent.0, vec![(peer(1), vec![5; 700]); 2]);
    assert_eq!(outbound.in_flight(), 0);
}

#[test]
fn sequence_numbers_skip_those_in_flight_and_wrap_at_24_bits() {
    let mut outbound = outbound(2, SequenceNumber::MAX);
    let first = send(&mut outbound, Instant(0), peer(1), 1);
    assert_eq!(first.get(), SequenceNumber::MAX);
    // Four slots: number 3 would share the slot of the lingering first request.
    for expected in [0, 1, 2, 4, 5, 6, 8] {
        let sequence = send(&mut outbound, Instant(0), peer(1), 2);
        assert_eq!(sequence.get(), expected);
        assert_eq!(outbound.answer(peer(1), sequence, RESPONSE), Answer::To(2));
    }
    assert_eq!(outbound.answer(peer(1), first, RESPONSE), Answer::To(1));
}

#[test]
fn requests_beyond_the_limit_are_refused_by_number_and_by_memory() {
    let mut outbound = outbound(8, 0);
    for tag in 0..8 {
        send(&mut outbound, Instant(0), peer(1), tag);
    }
    assert_eq!(outbound.reserve(), Err(Refusal::TooManyInFlight));
    outbound.cancel(|tag| *tag < 1, |_| ());
    let too_long = outbound.keep(Instant(0), peer(1), REQUEST, 9, &[0; 1500]);
    assert_eq!(too_long, Err(Refusal::NoMemory));
}

#[test]
fn cancelled_requests_are_told_once_and_leave_the_others_alone() {
    let mut outbound = outbound(8, 0);
    let sequences: Vec<_> = (0..6)
        .map(|tag| send(&mut outbound, Instant(tag), peer(1), tag))
        .collect();
    let mut told = Vec::new();
    outbound.cancel(|tag| tag % 2 == 0, |tag| told.push(tag));
    assert_eq!(told, [0, 2, 4]);
    assert_eq!(outbound.next_deadline(), Some(Instant(1).plus_ms(1000)));
    assert_eq!(
        outbound.answer(peer(1), sequences[3], RESPONSE),
        Answer::To(3)
    );
    assert_eq!(outbound.in_flight(), 2);
}
