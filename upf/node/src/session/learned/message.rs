//! The form of a message: its octets, but for the values that differ from session to session.

use super::domain::{Domain, Mark};
use super::reading::Readings;
use core::ops::Range;
use sluice_wire::pfcp::{IeType, Ies};

/// The longest message that is learned; those of SMFs have up to some 700 octets.
pub const LEN_MAX: usize = 2048;

/// The most values in a message.
pub const VALUES_MAX: usize = 48;

/// What all messages of a form have in common.
#[derive(Debug)]
pub struct MessageForm {
    /// Octets behind the header, those of values being 0.
    octets: Box<[u8]>,
    /// All ones where octets are compared.
    mask: Box<[u8]>,
    /// Where the values stand.
    pub marks: Box<[Mark]>,
    /// How they are read.
    pub readings: Readings,
    /// Where the SEID of the CP F-SEID stands, 8 octets.
    pub cp_seid_at: Option<usize>,
    /// The value of the User ID; its length and first octet are the same in all.
    pub user: Option<Range<usize>>,
}

impl MessageForm {
    /// The form of a message, or none if it is too long, no sequence of IEs, or has too many values.
    pub fn of(body: &[u8]) -> Option<Self> {
        if body.len() > LEN_MAX {
            return None;
        }
        let mut form = Self {
            octets: body.into(),
            mask: vec![0xff; body.len()].into_boxed_slice(),
            marks: Box::default(),
            readings: Readings::default(),
            cp_seid_at: None,
            user: None,
        };
        let mut marks = Vec::new();
        form.read(body, 0..body.len(), None, &mut marks)?;
        for mark in &marks {
            form.leave_out(mark.at.into(), mark.octets.into());
        }
        if let Some(at) = form.cp_seid_at {
            form.leave_out(at, 8);
        }
        if let Some(user) = form.user.clone() {
            form.leave_out(user.start + 1, user.len().checked_sub(1)?);
        }
        form.readings = Readings::of(&marks)?;
        form.marks = marks.into();
        (form.marks.len() <= VALUES_MAX).then_some(form)
    }

    /// True if a message has this form.
    pub fn fits(&self, body: &[u8]) -> bool {
        if body.len() != self.octets.len() {
            return false;
        }
        let (body, body_end) = body.as_chunks::<8>();
        let (octets, octets_end) = self.octets.as_chunks::<8>();
        let (mask, mask_end) = self.mask.as_chunks::<8>();
        let mut other = 0;
        // To the end, whatever is found: so it is done many octets at a time.
        for ((body, octets), mask) in body.iter().zip(octets).zip(mask) {
            other |= word(body) & word(mask) ^ word(octets);
        }
        for ((body, octet), mask) in body_end.iter().zip(octets_end).zip(mask_end) {
            other |= u64::from(body & mask ^ octet);
        }
        other == 0
    }

    fn leave_out(&mut self, at: usize, len: usize) {
        for octets in [&mut self.octets, &mut self.mask] {
            if let Some(place) = octets.get_mut(at..at + len) {
                place.fill(0);
            }
        }
    }

    fn read(
        &mut self,
        body: &[u8],
        range: Range<usize>,
        inside: Option<IeType>,
        marks: &mut Vec<Mark>,
    ) -> Option<()> {
        let mut at = range.start;
        for ie in Ies::new(body.get(range)?) {
            let ie = ie.ok()?;
            let value = at + 4..at + 4 + ie.value.len();
            at = value.end;
            if is_group(ie.ie_type) {
                self.read(body, value, Some(ie.ie_type), marks)?;
                continue;
            }
            match (inside, ie.ie_type) {
                (None, IeType::F_SEID) if ie.value.len() >= 9 && self.cp_seid_at.is_none() => {
                    self.cp_seid_at = Some(value.start + 1);
                }
                (None, IeType::USER_ID) if !ie.value.is_empty() && self.user.is_none() => {
                    self.user = Some(value);
                }
                _ => marks.extend(values(ie.ie_type, ie.value, value.start)),
            }
        }
        Some(())
    }
}

fn word(octets: &[u8; 8]) -> u64 {
    u64::from_ne_bytes(*octets)
}

fn is_group(ie: IeType) -> bool {
    matches!(
        ie,
        IeType::CREATE_PDR
            | IeType::CREATE_FAR
            | IeType::CREATE_QER
            | IeType::CREATE_URR
            | IeType::UPDATE_PDR
            | IeType::UPDATE_FAR
            | IeType::UPDATE_QER
            | IeType::UPDATE_URR
            | IeType::REMOVE_PDR
            | IeType::REMOVE_FAR
            | IeType::REMOVE_QER
            | IeType::REMOVE_URR
            | IeType::QUERY_URR
            | IeType::PDI
            | IeType::FORWARDING_PARAMETERS
            | IeType::UPDATE_FORWARDING_PARAMETERS
    )
}

/// The values in an IE. What is not found here counts as the form, and is compared.
fn values(ie: IeType, value: &[u8], start: usize) -> impl Iterator<Item = Mark> {
    let mark = |domain, at: usize, octets: usize| {
        let whole = at + octets <= value.len();
        whole.then_some(Mark {
            domain,
            at: (start + at) as u16,
            octets: octets as u8,
        })
    };
    let whole = |domain, octets| mark(domain, 0, octets).filter(|_| value.len() == octets);
    let first = value.first().copied().unwrap_or(0);
    let found = match ie {
        IeType::PDR_ID => [whole(Domain::Pdr, 2), None],
        IeType::FAR_ID => [whole(Domain::Far, 4), None],
        IeType::QER_ID => [whole(Domain::Qer, 4), None],
        IeType::URR_ID => [whole(Domain::Urr, 4), None],
        IeType::QUERY_URR_REFERENCE => [whole(Domain::Reference, 4), None],
        // V4 (bit 2 here, 8.2.62), its address behind the flags; CHV4 has none.
        IeType::UE_IP_ADDRESS if first & 0x02 != 0 => [mark(Domain::UeAddress, 1, 4), None],
        // V4 without CHOOSE (8.2.3): the TEID behind the flags. The address is ours.
        IeType::F_TEID if first & 0x05 == 0x01 => [mark(Domain::LocalTeid, 1, 4), None],
        // GTP-U/UDP/IPv4 alone (8.2.56): TEID and address behind the description.
        IeType::OUTER_HEADER_CREATION if value.starts_with(&[1, 0]) => [
            mark(Domain::RemoteTeid, 2, 4),
            mark(Domain::RemoteAddress, 6, 4),
        ],
        _ => [None, None],
    };
    found.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::bench::{CP, GNB};
    use crate::session::tests::requests::default_session;
    use core::net::Ipv4Addr;
    use sluice_wire::pfcp::message::SessionEstablishmentRequest;
    use sluice_wire::pfcp::{Header, MessageType, SequenceNumber, write_message};

    fn body(request: &SessionEstablishmentRequest<'_>) -> Vec<u8> {
        let header = Header::node(MessageType::HEARTBEAT_REQUEST, SequenceNumber::wrapping(1));
        let mut bytes = vec![0; 2000];
        let len = write_message(&mut bytes, &header, |w| request.emit(w)).unwrap();
        let (_, body) = Header::parse(&bytes[..len]).unwrap();
        body.to_vec()
    }

    fn domains(form: &MessageForm) -> Vec<Domain> {
        form.marks.iter().map(|m| m.domain).collect()
    }

    #[test]
    fn sessions_of_one_kind_have_one_form() {
        let one = body(&default_session(Ipv4Addr::new(10, 45, 0, 1), 7));
        let form = MessageForm::of(&one).unwrap();
        assert!(form.fits(&one));
        let other = body(&default_session(Ipv4Addr::new(10, 46, 9, 200), u64::MAX));
        assert!(form.fits(&other));
        assert!(domains(&form).contains(&Domain::UeAddress));
        assert!(domains(&form).contains(&Domain::RemoteTeid));
        let address = |m: &&Mark| m.domain == Domain::RemoteAddress;
        let at = usize::from(form.marks.iter().find(address).unwrap().at);
        assert_eq!(one[at..at + 4], GNB.octets());
        let seid_at = form.cp_seid_at.unwrap();
        assert_eq!(
            other[seid_at..seid_at + 12],
            [&[0xff; 8][..], &CP.octets()].concat()
        );
    }

    #[test]
    fn any_octet_that_is_no_value_counts() {
        let one = body(&default_session(Ipv4Addr::new(10, 45, 0, 1), 7));
        let form = MessageForm::of(&one).unwrap();
        let mut is_value = vec![false; one.len()];
        for mark in &form.marks {
            let at = usize::from(mark.at);
            is_value[at..at + usize::from(mark.octets)].fill(true);
        }
        let seid_at = form.cp_seid_at.unwrap();
        is_value[seid_at..seid_at + 8].fill(true);
        for (at, is_value) in is_value.into_iter().enumerate() {
            let mut other = one.clone();
            other[at] ^= 0x10;
            assert_eq!(form.fits(&other), is_value, "octet {at}");
        }
        assert!(!form.fits(&one[..one.len() - 1]));
    }

    #[test]
    fn what_is_no_sequence_of_ies_has_no_form() {
        let mut cut = body(&default_session(Ipv4Addr::new(10, 45, 0, 1), 7));
        cut.truncate(cut.len() - 1);
        assert!(MessageForm::of(&cut).is_none());
        assert!(MessageForm::of(&vec![0; LEN_MAX + 4]).is_none());
    }
}
