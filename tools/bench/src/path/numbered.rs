//! Packets that may be late or get lost: a number in the last octets of each tells which one of its flow it is, and
//! the headers tell whose.

use super::topology::{POOL_BASE, number_of};
use super::traffic::{Direction, Flow, TEID_AT};
use sluice_wire::layout::{eth, ipv4};

/// Octets of a number.
const LEN: usize = 4;
const NOBODY: u32 = u32::MAX;

/// State of numbered packets that returned.
pub struct Numbered {
    /// By number of the session: the place of its flow.
    places: Vec<u32>,
    /// By the same: the number that the next one must have at the least.
    next: Vec<u32>,
}

impl Numbered {
    /// Of these flows nothing has come back.
    pub fn new(flows: &[Flow]) -> Self {
        let sessions = flows.iter().map(|flow| number_of(flow.gnb_teid) + 1);
        let sessions = sessions.max().unwrap_or(0) as usize;
        let mut places = vec![NOBODY; sessions];
        for (place, flow) in (0..).zip(flows) {
            places[number_of(flow.gnb_teid) as usize] = place;
        }
        Self {
            places,
            next: vec![0; sessions],
        }
    }

    /// A packet came back as it leaves the path. Gives the place of its flow; `None` if it is nobody's, or came
    /// behind a later one of its flow.
    pub fn came(&mut self, direction: Direction, frame: &[u8]) -> Option<usize> {
        let session = session_of(direction, frame)? as usize;
        let place = *self.places.get(session)?;
        let next = self.next.get_mut(session)?;
        let number = of(frame);
        if place == NOBODY || number < *next {
            return None;
        }
        *next = number + 1;
        Some(place as usize)
    }
}

/// The number of the session that a frame on its way out is of.
fn session_of(direction: Direction, frame: &[u8]) -> Option<u32> {
    let word = |at: usize| Some(u32::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    match direction {
        Direction::Uplink => Some(word(eth::LEN + ipv4::SOURCE)?.wrapping_sub(POOL_BASE.into())),
        Direction::Downlink => word(TEID_AT).map(number_of),
    }
}

/// Writes a packet's number over its last octets.
#[inline(always)]
pub fn put(frame: &mut [u8], number: u32) {
    if let Some(end) = frame.last_chunk_mut::<LEN>() {
        *end = number.to_be_bytes();
    }
}

/// The number of a packet.
pub fn of(frame: &[u8]) -> u32 {
    frame.last_chunk().copied().map_or(0, u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::topology::Servers;
    use crate::path::topology::{gnb_teid, ue_address};
    use crate::path::traffic::{Form, Frames};

    #[test]
    fn sessions_are_known_by_what_leaves_and_packets_behind_later_ones_are_found() {
        let flow = |index| Flow::new(9 + index, gnb_teid(index), ue_address(index));
        let flows = [flow(7), flow(2)];
        let mut numbered = Numbered::new(&flows);
        let frames = Frames::new(Form::NUMBERED, Servers::One);
        let mut plain = vec![0; Form::NUMBERED.input_len(Direction::Downlink)];
        frames.fill(Direction::Downlink, &flows[1], &mut plain);
        // As if it left by N6: the UE is its source.
        let (from, to) = (eth::LEN + ipv4::SOURCE, eth::LEN + ipv4::DESTINATION);
        plain.copy_within(to..to + 4, from);
        for (number, place) in [(3, Some(1)), (5, Some(1)), (4, None), (6, Some(1))] {
            put(&mut plain, number);
            let came = numbered.came(Direction::Uplink, &plain);
            assert_eq!(came, place, "{number}");
        }
        let mut tunnelled = vec![0; Form::NUMBERED.input_len(Direction::Uplink)];
        frames.fill(Direction::Uplink, &flows[0], &mut tunnelled);
        tunnelled[TEID_AT..TEID_AT + 4].copy_from_slice(&flows[0].gnb_teid.to_be_bytes());
        put(&mut tunnelled, 0);
        assert_eq!(numbered.came(Direction::Downlink, &tunnelled), Some(0));
        tunnelled[TEID_AT..TEID_AT + 4].copy_from_slice(&gnb_teid(3).to_be_bytes());
        assert_eq!(numbered.came(Direction::Downlink, &tunnelled), None);
    }
}
