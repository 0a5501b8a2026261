//! Message priorities of outgoing requests.

use std::net::SocketAddr;

use sluice_n4::Outbox;
use sluice_wire::pfcp::MessageType;

use crate::dialect::profile::MessagePriorities;

const FLAG_MP: u8 = 0x02;
/// The octet behind the SEID and the sequence number.
const PRIORITY: usize = 15;

/// The endpoint gives no message a priority; some SMFs give them to session related requests.
/// Retransmissions come this way too, so they are the same octets.
pub struct Prioritised<'a, O> {
    pub out: &'a mut O,
    pub priority: &'static MessagePriorities,
    pub scratch: &'a mut Vec<u8>,
}

impl<O: Outbox> Outbox for Prioritised<'_, O> {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        let priority = match bytes.get(1).copied().map(MessageType) {
            Some(MessageType::SESSION_ESTABLISHMENT_REQUEST) => self.priority.establishment,
            Some(MessageType::SESSION_MODIFICATION_REQUEST) => self.priority.modification,
            Some(MessageType::SESSION_DELETION_REQUEST) => self.priority.deletion,
            _ => None,
        };
        let Some(priority) = priority else {
            return self.out.send(to, bytes);
        };
        self.scratch.clear();
        self.scratch.extend_from_slice(bytes);
        if let Some([flags, _, .., octet]) = self.scratch.get_mut(..=PRIORITY) {
            *flags |= FLAG_MP;
            *octet = priority << 4;
        }
        self.out.send(to, self.scratch);
    }
}

#[cfg(test)]
mod tests {
    use sluice_wire::ids::Seid;
    use sluice_wire::pfcp::{Header, SequenceNumber, write_message};

    use super::*;

    #[derive(Default)]
    struct Sent(Vec<Vec<u8>>);

    impl Outbox for Sent {
        fn send(&mut self, _: SocketAddr, bytes: &[u8]) {
            self.0.push(bytes.to_vec());
        }
    }

    static PRIORITIES: MessagePriorities = MessagePriorities {
        establishment: None,
        modification: Some(12),
        deletion: None,
    };

    #[test]
    fn only_requests_that_have_a_priority_are_changed() {
        let sequence = SequenceNumber::wrapping(7);
        let types = [
            MessageType::SESSION_MODIFICATION_REQUEST,
            MessageType::SESSION_DELETION_REQUEST,
            MessageType::SESSION_REPORT_RESPONSE,
        ];
        let mut sent = Sent::default();
        for message_type in types {
            let mut bytes = [0; 16];
            let header = Header::session(message_type, Seid(5), sequence);
            write_message(&mut bytes, &header, |_| Ok(())).unwrap();
            let mut out = Prioritised {
                out: &mut sent,
                priority: &PRIORITIES,
                scratch: &mut Vec::new(),
            };
            out.send(([127, 0, 0, 1], 8805).into(), &bytes);
        }
        let headers: Vec<_> = sent
            .0
            .iter()
            .map(|bytes| Header::parse(bytes).unwrap().0)
            .collect();
        let expected = types.map(|message_type| Header {
            priority: (message_type == types[0]).then_some(12),
            ..Header::session(message_type, Seid(5), sequence)
        });
        assert_eq!(headers, expected);
    }
}
