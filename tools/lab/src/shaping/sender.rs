//! Senders of the `shaping` runner: one that goes by what is lost (TCP), and one that does not care.

use std::collections::VecDeque;

/// Later packets that arrived before one counts as lost (RFC 5681, 3.2).
const DUPLICATES: u32 = 3;
/// Packets that a connection begins with (RFC 6928).
const FIRST_WINDOW: f64 = 10.0;
/// The least time without a word after which all counts as lost (RFC 6298, 2.4, as Linux has it).
const LEAST_TIMEOUT_NS: u64 = 200_000_000;
const BURST: usize = 20;
/// Offered load of bursts, relative to the rate.
const OFFERED: f64 = 1.3;

/// Numbers count packets, so one that is sent again has another one.
pub trait Sender {
    /// From the start of a run to its first packet.
    fn begins_ns(&self) -> u64;
    /// Packets that it sends now, and when it wants to be asked again at the latest.
    fn sends(&mut self, now_ns: u64) -> (usize, Option<u64>);
    /// A receiver has got this packet.
    fn acknowledged(&mut self, now_ns: u64, number: u32);
    /// Packets that reached the receiver's user, each once.
    fn in_order(&self) -> usize;
}

struct UnderWay {
    number: u32,
    segment: u32,
    arrived: bool,
}

/// A TCP connection that always has something to send: slow start and congestion avoidance of RFC 5681, with the
/// halving at most once in a round trip, and a word of each packet that arrives (RFC 2018).
pub struct Tcp {
    begins_ns: u64,
    window: f64,
    threshold: f64,
    /// In the order in which they were sent.
    under_way: VecDeque<UnderWay>,
    /// Segments to be sent again.
    again: VecDeque<u32>,
    next_segment: u32,
    next_number: u32,
    /// Losses of packets before this one are of an event that was heeded.
    heeded: u32,
    delivered: usize,
    heard_ns: u64,
    timeout_ns: u64,
    /// When it asked to be asked.
    alarm_ns: u64,
}

impl Tcp {
    /// A connection that begins then.
    pub fn begins(begins_ns: u64, rtt_ns: u64) -> Self {
        Self {
            begins_ns,
            window: FIRST_WINDOW,
            threshold: f64::MAX,
            under_way: VecDeque::new(),
            again: VecDeque::new(),
            next_segment: 0,
            next_number: 0,
            heeded: 0,
            delivered: 0,
            heard_ns: 0,
            timeout_ns: LEAST_TIMEOUT_NS.max(4 * rtt_ns),
            alarm_ns: 0,
        }
    }

    fn lose(&mut self, packet: &UnderWay) {
        self.again.push_back(packet.segment);
        if packet.number >= self.heeded {
            self.heeded = self.next_number;
            self.threshold = (self.window / 2.0).max(2.0);
            self.window = self.threshold;
        }
    }

    fn time_out(&mut self, now_ns: u64) {
        if self.under_way.is_empty() || now_ns < self.heard_ns + self.timeout_ns {
            return;
        }
        let lost = self.under_way.drain(..).filter(|packet| !packet.arrived);
        self.again.extend(lost.map(|packet| packet.segment));
        self.threshold = (self.window / 2.0).max(2.0);
        self.window = 1.0;
        (self.heeded, self.heard_ns) = (self.next_number, now_ns);
    }
}

impl Sender for Tcp {
    fn begins_ns(&self) -> u64 {
        self.begins_ns
    }

    fn sends(&mut self, now_ns: u64) -> (usize, Option<u64>) {
        if self.next_number == 0 {
            self.heard_ns = now_ns;
        }
        self.time_out(now_ns);
        let waiting = self.under_way.iter().filter(|packet| !packet.arrived);
        let room = (self.window as usize).saturating_sub(waiting.count());
        for _ in 0..room {
            let segment = self.again.pop_front().unwrap_or_else(|| {
                self.next_segment += 1;
                self.next_segment - 1
            });
            self.under_way.push_back(UnderWay {
                number: self.next_number,
                segment,
                arrived: false,
            });
            self.next_number += 1;
        }
        // A word comes with each packet; without any, the time is over.
        let is_over = now_ns >= self.alarm_ns;
        if is_over {
            self.alarm_ns = (self.heard_ns + self.timeout_ns).max(now_ns + 1);
        }
        (room, is_over.then_some(self.alarm_ns))
    }

    fn acknowledged(&mut self, now_ns: u64, number: u32) {
        self.heard_ns = now_ns;
        let packet = self.under_way.iter_mut().find(|p| p.number == number);
        // What counted as lost came late: its segment is sent again, and counted then.
        let Some(packet) = packet else {
            return;
        };
        packet.arrived = true;
        self.delivered += 1;
        self.window += match self.window < self.threshold {
            true => 1.0,
            false => 1.0 / self.window,
        };
        while let Some(first) = self.under_way.front() {
            let is_lost = !first.arrived && number >= first.number + DUPLICATES;
            if !first.arrived && !is_lost {
                break;
            }
            if let Some(first) = self.under_way.pop_front()
                && is_lost
            {
                self.lose(&first);
            }
        }
    }

    fn in_order(&self) -> usize {
        self.delivered
    }
}

/// Bursts that together exceed a rate, whatever becomes of them.
pub struct Blaster {
    begins_ns: u64,
    every_ns: u64,
    next_ns: Option<u64>,
    arrived: usize,
}

impl Blaster {
    /// Bursts from then on that exceed a rate.
    pub fn begins(begins_ns: u64, rate_bps: u64, packet_bytes: usize) -> Self {
        let bits = (BURST * packet_bytes * 8) as f64;
        Self {
            begins_ns,
            every_ns: (bits * 1e9 / (rate_bps.max(1) as f64 * OFFERED)) as u64,
            next_ns: None,
            arrived: 0,
        }
    }
}

impl Sender for Blaster {
    fn begins_ns(&self) -> u64 {
        self.begins_ns
    }

    fn sends(&mut self, now_ns: u64) -> (usize, Option<u64>) {
        if self.next_ns.is_some_and(|next| now_ns < next) {
            return (0, None);
        }
        let next_ns = now_ns + self.every_ns;
        self.next_ns = Some(next_ns);
        (BURST, Some(next_ns))
    }

    fn acknowledged(&mut self, _: u64, _: u32) {
        self.arrived += 1;
    }

    fn in_order(&self) -> usize {
        self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT_NS: u64 = 20_000_000;

    #[test]
    fn a_window_grows_by_what_arrives_and_halves_once_for_all_losses_of_a_round_trip() {
        let mut tcp = Tcp::begins(0, RTT_NS);
        assert_eq!(tcp.sends(0).0, 10);
        (0..10).for_each(|number| tcp.acknowledged(RTT_NS, number));
        assert_eq!(tcp.sends(RTT_NS).0, 20, "slow start");
        // Two of these are lost.
        for number in (10..30).filter(|number| ![12, 20].contains(number)) {
            tcp.acknowledged(2 * RTT_NS, number);
        }
        let (sent, _) = tcp.sends(2 * RTT_NS);
        assert!((10..25).contains(&sent), "{sent}");
        assert_eq!(tcp.in_order(), 28);
        assert_eq!(tcp.next_segment as usize, 30 + sent - 2, "both go again");
    }

    #[test]
    fn without_a_word_all_is_sent_again_from_a_window_of_one() {
        let mut tcp = Tcp::begins(0, RTT_NS);
        let (_, again_ns) = tcp.sends(0);
        assert_eq!(tcp.sends(again_ns.unwrap()).0, 1);
        assert_eq!(tcp.next_segment, 10);
    }

    #[test]
    fn bursts_exceed_their_rate_whatever_becomes_of_them() {
        let mut bursts = Blaster::begins(0, 10_000_000, 1_400);
        let mut now_ns = 0;
        let mut sent = 0;
        while now_ns < 1_000_000_000 {
            let (packets, next_ns) = bursts.sends(now_ns);
            sent += packets;
            now_ns = next_ns.unwrap();
        }
        let bps = (sent * 1_400 * 8) as f64;
        assert!((12_800_000.0..13_400_000.0).contains(&bps), "{bps}");
    }
}
