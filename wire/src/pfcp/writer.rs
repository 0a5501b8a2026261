//! A bounded output buffer for messages and IEs.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use super::ie_type::IeType;

/// The output buffer cannot hold what was to be written, or an IE exceeds 65,535 octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message does not fit into the output buffer")
    }
}

impl core::error::Error for Full {}

/// Appends to a byte slice; once it is full every call fails and nothing panics.
#[derive(Debug)]
pub struct Writer<'b> {
    out: &'b mut [u8],
    len: usize,
}

/// Octets of an IE in front of its value: type and length.
const IE_HEADER: usize = 4;

impl<'b> Writer<'b> {
    /// A writer at the start of `out`.
    pub fn new(out: &'b mut [u8]) -> Self {
        Self { out, len: 0 }
    }

    /// Octets written so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What has been written.
    pub fn written(&self) -> &[u8] {
        self.out.get(..self.len).unwrap_or_default()
    }

    /// Forgets everything after the first `len` octets, to take back an IE that did not fit.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends an IE: its type, its length, and the value that `value` writes (8.1.1). An IE that
    /// does not fit leaves nothing behind.
    #[inline]
    pub fn ie(
        &mut self,
        ie_type: IeType,
        value: impl FnOnce(&mut Self) -> Result<(), Full>,
    ) -> Result<(), Full> {
        let start = self.len;
        self.len = start + IE_HEADER;
        let written = value(self).and_then(|()| self.ie_header(start, ie_type));
        if written.is_err() {
            self.len = start;
        }
        written
    }

    /// Appends octets as they are.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let end = self.len.checked_add(bytes.len()).ok_or(Full)?;
        self.out
            .get_mut(self.len..end)
            .ok_or(Full)?
            .copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }

    /// Appends one octet.
    #[inline]
    pub fn u8(&mut self, value: u8) -> Result<(), Full> {
        self.array([value])
    }

    /// Appends two octets, most significant first.
    #[inline]
    pub fn u16(&mut self, value: u16) -> Result<(), Full> {
        self.array(value.to_be_bytes())
    }

    /// Appends the low three octets, most significant first.
    #[inline]
    pub fn u24(&mut self, value: u32) -> Result<(), Full> {
        let [_, b1, b2, b3] = value.to_be_bytes();
        self.array([b1, b2, b3])
    }

    /// Appends four octets, most significant first.
    #[inline]
    pub fn u32(&mut self, value: u32) -> Result<(), Full> {
        self.array(value.to_be_bytes())
    }

    /// Appends the low five octets, most significant first.
    #[inline]
    pub fn u40(&mut self, value: u64) -> Result<(), Full> {
        let [_, _, _, b3, b4, b5, b6, b7] = value.to_be_bytes();
        self.array([b3, b4, b5, b6, b7])
    }

    /// Appends eight octets, most significant first.
    #[inline]
    pub fn u64(&mut self, value: u64) -> Result<(), Full> {
        self.array(value.to_be_bytes())
    }

    /// Appends an IPv4 address when there is one.
    #[inline]
    pub fn ipv4(&mut self, address: Option<Ipv4Addr>) -> Result<(), Full> {
        address.map_or(Ok(()), |a| self.array(a.octets()))
    }

    /// Appends an IPv6 address when there is one.
    #[inline]
    pub fn ipv6(&mut self, address: Option<Ipv6Addr>) -> Result<(), Full> {
        address.map_or(Ok(()), |a| self.array(a.octets()))
    }

    /// Appends a text of at most 255 octets behind its one-octet length.
    pub fn short_text(&mut self, text: &[u8]) -> Result<(), Full> {
        self.u8(u8::try_from(text.len()).map_err(|_| Full)?)?;
        self.bytes(text)
    }

    /// Overwrites octets that have been written before.
    #[inline]
    pub(super) fn patch<const N: usize>(&mut self, at: usize, v: [u8; N]) -> Result<(), Full> {
        let place = self
            .out
            .get_mut(at..)
            .and_then(|rest| rest.first_chunk_mut());
        *place.ok_or(Full)? = v;
        Ok(())
    }

    #[inline]
    fn ie_header(&mut self, start: usize, ie_type: IeType) -> Result<(), Full> {
        let length = u16::try_from(self.len - start - IE_HEADER).map_err(|_| Full)?;
        self.patch(
            start,
            (u32::from(ie_type.0) << 16 | u32::from(length)).to_be_bytes(),
        )
    }

    #[inline]
    fn array<const N: usize>(&mut self, value: [u8; N]) -> Result<(), Full> {
        self.patch(self.len, value)?;
        self.len += N;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ie_carries_type_length_and_value() {
        let mut buffer = [0; 8];
        let mut out = Writer::new(&mut buffer);
        out.ie(IeType::PDR_ID, |w| w.u16(7)).unwrap();
        assert_eq!(out.written(), [0, 56, 0, 2, 0, 7]);
    }

    #[test]
    fn a_full_buffer_refuses_and_stays_usable() {
        let mut buffer = [0; 6];
        let mut out = Writer::new(&mut buffer);
        out.u32(1).unwrap();
        assert_eq!(out.u32(2), Err(Full));
        assert_eq!(out.len(), 4);
        out.u16(3).unwrap();
        assert_eq!(out.written(), [0, 0, 0, 1, 0, 3]);
    }

    #[test]
    fn an_ie_that_does_not_fit_leaves_nothing() {
        let mut buffer = [0; 5];
        let mut out = Writer::new(&mut buffer);
        assert_eq!(out.ie(IeType::PDR_ID, |w| w.u16(7)), Err(Full));
        assert_eq!(out.len(), 0);
        let mut out = Writer::new(&mut buffer[..3]);
        assert_eq!(out.ie(IeType::PDR_ID, |_| Ok(())), Err(Full));
        assert!(out.written().is_empty());
    }

    #[test]
    fn odd_widths_keep_their_low_octets() {
        let mut buffer = [0; 8];
        let mut out = Writer::new(&mut buffer);
        out.u24(0x0102_0304).unwrap();
        out.u40(0x0102_0304_0506_0708).unwrap();
        assert_eq!(out.written(), [2, 3, 4, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn an_ie_above_65535_octets_is_refused() {
        let mut buffer = [0; 70_000];
        let mut out = Writer::new(&mut buffer);
        assert_eq!(out.ie(IeType::PDI, |w| w.bytes(&[0; 65_536])), Err(Full));
    }
}
