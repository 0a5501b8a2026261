//! Envelope of a message: who asks whom, which call it is, and until when the answer is of use.

use sluice_sbi::{CallId, Instant, Key, Message, Place, Slot};
use zerocopy::big_endian::{U16, U32, U64};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// A request or its reply on the way between two hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// Sender.
    pub from: Place,
    /// Receiver.
    pub to: Place,
    /// Call, as the one that asks names it.
    pub call: CallId,
    /// Whether it asks or answers.
    pub kind: Kind,
    /// Percent of what there is room for at the function that answers (3gpp-Sbi-Lci: TS 29.500, 6.3); 0 of a request.
    pub load: u8,
    /// End of the wait of the one that asks, on the clock that all programs of a machine share.
    pub deadline: Instant,
    /// Message.
    pub message: Slot,
}

/// Whether an envelope asks or answers.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum Kind {
    /// A request.
    Request = 1,
    /// The reply to one.
    Reply = 2,
}

#[derive(TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Head {
    kind: Kind,
    from: Place,
    to: Place,
    load: u8,
    generation: U16,
    slot: U32,
    deadline_ns: U64,
}

/// Octets before the message.
pub const HEAD: usize = size_of::<Head>();

/// Longest envelope in octets.
pub const LONGEST: usize = HEAD + sluice_sbi::LONGEST;

impl Envelope {
    /// Writes it, and gives its length in octets; none if `room` is shorter than that.
    pub fn write(&self, room: &mut [u8]) -> Option<usize> {
        let CallId(Key { slot, generation }) = self.call;
        let head = Head {
            kind: self.kind,
            from: self.from,
            to: self.to,
            load: self.load,
            generation: generation.into(),
            slot: slot.into(),
            deadline_ns: self.deadline.0.into(),
        };
        let (before, after) = room.split_at_mut_checked(HEAD)?;
        before.copy_from_slice(head.as_bytes());
        Some(HEAD + self.message.write(after)?)
    }

    /// Reads one; none if the octets are no envelope.
    pub fn read(octets: &[u8]) -> Option<Self> {
        let (head, message) = octets.split_at_checked(HEAD)?;
        let head = Head::try_ref_from_bytes(head).ok()?;
        let (slot, generation) = (head.slot.get(), head.generation.get());
        Some(Self {
            from: head.from,
            to: head.to,
            call: CallId(Key { slot, generation }),
            kind: head.kind,
            load: head.load,
            deadline: Instant(head.deadline_ns.get()),
            message: Message::from_octets(message)?.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_sbi::{Done, Nf};

    fn envelope() -> Envelope {
        Envelope {
            from: Nf::Amf.into(),
            to: Nf::Ausf.into(),
            call: CallId(Key {
                slot: 0x0102_0304,
                generation: 0x0506,
            }),
            kind: Kind::Request,
            load: 9,
            deadline: Instant(0x0708_090a_0b0c_0d0e),
            message: Done::ALL.into(),
        }
    }

    #[test]
    fn octets_of_an_envelope() {
        let mut room = [0; LONGEST];
        let length = envelope().write(&mut room).expect("room");
        let head = [
            1, 1, 0, 2, 0, 9, 5, 6, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14,
        ];
        assert_eq!(room[..HEAD], head);
        assert_eq!(room[HEAD..length], Message::from(Done::ALL).to_octets());
        assert_eq!(Envelope::read(&room[..length]), Some(envelope()));
    }

    #[test]
    fn what_is_no_envelope_is_not_read() {
        let mut room = [0; LONGEST];
        let length = envelope().write(&mut room).expect("room");
        assert!((0..length).all(|cut| Envelope::read(&room[..cut]).is_none()));
        assert!(Envelope::read(&room[..length + 1]).is_none());
        // No kind, no function.
        for (at, value) in [(0, 3), (1, 0), (3, 9)] {
            let mut wrong = room;
            wrong[at] = value;
            assert_eq!(Envelope::read(&wrong[..length]), None, "octet {at}");
        }
        assert_eq!(envelope().write(&mut [0; HEAD + 1]), None);
    }
}
