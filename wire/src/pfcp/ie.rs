//! IE iterator of a message or group (TS 29.244, 8.1.1).

use super::cause::Cause;
use super::element::Element;
use super::ie_type::IeType;
use super::reject::Reject;

/// One IE as it stands in the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ie<'a> {
    /// Its type.
    pub ie_type: IeType,
    /// Its value without type and length; a vendor's value begins with the Enterprise ID.
    pub value: &'a [u8],
}

/// Iterates over the IEs of a message body or group, vendor-specific and unknown ones included.
///
/// It ends after the first error.
#[derive(Clone, Debug)]
pub struct Ies<'a> {
    rest: &'a [u8],
}

impl<'a> Ies<'a> {
    /// The IEs in `body`.
    pub const fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    /// The next whole IE; `None` at the end and in front of octets that are not a whole IE, which
    /// [`Ies::finish`] tells apart. (An `Option` stays in registers where a `Result` would not.)
    #[inline]
    pub(crate) fn next_whole(&mut self) -> Option<Ie<'a>> {
        let (&[t0, t1, l0, l1], rest) = self.rest.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        let (value, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Ie {
            ie_type: IeType(u16::from_be_bytes([t0, t1])),
            value,
        })
    }

    /// Whether all octets were IEs.
    #[inline]
    pub(crate) fn finish(&self) -> Result<(), Reject> {
        match self.rest {
            [] => Ok(()),
            [t0, t1, _, _, ..] => Err(Reject::invalid_length(IeType(u16::from_be_bytes([
                *t0, *t1,
            ])))),
            _ => Err(Reject {
                cause: Cause::INVALID_LENGTH,
                offending_ie: None,
            }),
        }
    }
}

impl<'a> Iterator for Ies<'a> {
    type Item = Result<Ie<'a>, Reject>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(ie) = self.next_whole() {
            return Some(Ok(ie));
        }
        let error = self.finish().err()?;
        self.rest = &[];
        Some(Err(error))
    }
}

/// The value of the first IE of a type, found without reading any other: for the answer to a
/// message that could not be understood.
pub fn first(body: &[u8], ie_type: IeType) -> Option<&[u8]> {
    Ies::new(body)
        .map_while(Result::ok)
        .find(|ie| ie.ie_type == ie_type)
        .map(|ie| ie.value)
}

/// The IEs of one type, decoded one at a time, in order; one more than `max` is refused. Octets
/// that are no IE end it silently: whoever reads the rest of the message finds them.
pub fn groups<'a, T: Element<'a>>(
    body: &'a [u8],
    ie_type: IeType,
    max: usize,
) -> impl Iterator<Item = Result<T, Reject>> {
    let decode = move |value| T::decode(value).map_err(|fault| fault.into_reject(ie_type));
    values(body, ie_type, max).map(move |value| value.and_then(decode))
}

/// The contents of [`groups`], to be decoded.
fn values(body: &[u8], ie_type: IeType, max: usize) -> impl Iterator<Item = Result<&[u8], Reject>> {
    let mut ies = Ies::new(body);
    let mut found = 0;
    core::iter::from_fn(move || {
        while let Some(ie) = ies.next_whole() {
            if ie.ie_type == ie_type {
                found += 1;
                return Some(match found > max {
                    true => Err(Reject::too_many(ie_type)),
                    false => Ok(ie.value),
                });
            }
        }
        None
    })
}

/// The body of a message, and which types of IE stand in it: those that do not need not be looked
/// for.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    octets: &'a [u8],
    /// One bit for each type that is [told apart](TOLD_APART).
    types: [u64; TOLD_APART / 64],
}

/// Types of IE below this number are told apart; all others may stand in any body. Those of
/// TS 29.244, Release 17, end at 309.
const TOLD_APART: usize = 320;

impl<'a> Body<'a> {
    /// Looks `octets` through.
    pub fn new(octets: &'a [u8]) -> Self {
        let mut types = [0; TOLD_APART / 64];
        let mut ies = Ies::new(octets);
        while let Some(Ie { ie_type, .. }) = ies.next_whole() {
            if let Some(word) = types.get_mut(usize::from(ie_type.0) / 64) {
                *word |= 1 << (ie_type.0 % 64);
            }
        }
        Self { octets, types }
    }

    /// False if no IE of this type is there.
    #[inline]
    pub fn may_have(&self, ie_type: IeType) -> bool {
        let word = self.types.get(usize::from(ie_type.0) / 64);
        word.is_none_or(|word| word >> (ie_type.0 % 64) & 1 != 0)
    }

    /// True if IEs of some of these types may be there.
    pub fn may_have_any(&self, ie_types: &[IeType]) -> bool {
        ie_types.iter().any(|ie_type| self.may_have(*ie_type))
    }

    /// [`groups`] of it.
    #[inline]
    pub fn groups<T: Element<'a>>(
        &self,
        ie_type: IeType,
        max: usize,
    ) -> impl Iterator<Item = Result<T, Reject>> + use<'a, T> {
        groups(self.octets_with(ie_type), ie_type, max)
    }

    /// The same, each decoded in place: a large group is not copied.
    #[inline]
    pub fn each_group<T: Element<'a>, E: From<Reject>>(
        &self,
        ie_type: IeType,
        max: usize,
        mut take: impl FnMut(&T) -> Result<(), E>,
    ) -> Result<(), E> {
        for value in values(self.octets_with(ie_type), ie_type, max) {
            let mut group = T::default();
            let decoded = group.decode_into(value?);
            decoded.map_err(|fault| fault.into_reject(ie_type))?;
            take(&group)?;
        }
        Ok(())
    }

    fn octets_with(&self, ie_type: IeType) -> &'a [u8] {
        match self.may_have(ie_type) {
            true => self.octets,
            false => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_knows_what_stands_in_it() {
        let octets = [0, 56, 0, 2, 0, 7, 0x80, 1, 0, 3, 0, 1, 9, 1, 0x3f, 0, 0];
        let body = Body::new(&octets);
        assert!(body.may_have(IeType::PDR_ID));
        assert!(body.may_have(IeType(319)));
        assert!(!body.may_have(IeType::FAR_ID));
        assert!(!body.may_have(IeType(318)));
        // One of a vendor, and any other beyond.
        assert!(body.may_have(IeType(0x8001)) && body.may_have(IeType(320)));
        assert!(!body.may_have_any(&[IeType::FAR_ID, IeType::URR_ID]));
        assert!(body.may_have_any(&[IeType::FAR_ID, IeType::PDR_ID]));
        let read = |ie_type| body.groups::<crate::ids::PdrId>(ie_type, 1).count();
        assert_eq!((read(IeType::PDR_ID), read(IeType::FAR_ID)), (1, 0));
        let mut told = Vec::new();
        let mut tell = |max| {
            body.each_group(IeType::PDR_ID, max, |id: &crate::ids::PdrId| {
                told.push(*id);
                Ok::<(), Reject>(())
            })
        };
        assert_eq!(tell(1), Ok(()));
        assert_eq!(tell(0), Err(Reject::too_many(IeType::PDR_ID)));
        assert_eq!(told, [crate::ids::PdrId(7)]);
    }

    #[test]
    fn ies_follow_each_other() {
        let body = [0, 56, 0, 2, 0, 7, 0x80, 1, 0, 3, 0, 1, 9];
        let ies: Vec<_> = Ies::new(&body).map(Result::unwrap).collect();
        assert_eq!(
            ies[0],
            Ie {
                ie_type: IeType::PDR_ID,
                value: &[0, 7]
            }
        );
        assert_eq!(
            ies[1],
            Ie {
                ie_type: IeType(0x8001),
                value: &[0, 1, 9]
            }
        );
        assert_eq!(first(&body, IeType::PDR_ID), Some(&[0, 7][..]));
        assert_eq!(first(&body, IeType::FAR_ID), None);
    }

    #[test]
    fn groups_come_one_by_one_up_to_their_limit() {
        use crate::ids::PdrId;
        let body = [
            0, 56, 0, 2, 0, 7, 0, 108, 0, 0, 0, 56, 0, 2, 0, 8, 0, 56, 0, 1, 0,
        ];
        let read = |max| groups::<PdrId>(&body, IeType::PDR_ID, max).collect::<Vec<_>>();
        let [first, second] = [Ok(PdrId(7)), Ok(PdrId(8))];
        assert_eq!(
            read(2),
            [first, second, Err(Reject::too_many(IeType::PDR_ID))]
        );
        assert_eq!(
            read(3),
            [first, second, Err(Reject::invalid_length(IeType::PDR_ID))]
        );
    }

    #[test]
    fn an_ie_that_overruns_is_named() {
        let mut ies = Ies::new(&[0, 56, 0, 3, 0, 7]);
        assert_eq!(
            ies.next(),
            Some(Err(Reject::invalid_length(IeType::PDR_ID)))
        );
        assert_eq!(ies.next(), None);
    }

    #[test]
    fn loose_octets_at_the_end_are_an_error() {
        let mut ies = Ies::new(&[0, 56, 0]);
        let error = ies.next().unwrap().unwrap_err();
        assert_eq!(
            error,
            Reject {
                cause: Cause::INVALID_LENGTH,
                offending_ie: None
            }
        );
    }
}
