//! Flow description parser: word by word, each of one form.

use super::{AddressMatch, FlowDescription, FlowDescriptionError, Ports};
use FlowDescriptionError as Error;

impl FlowDescription {
    /// Reads the text of an SDF filter. Words are apart by ASCII whitespace; case matters.
    ///
    /// # Errors
    /// [`FlowDescriptionError`], naming the first word that is wrong.
    pub fn parse(text: &[u8]) -> Result<Self, FlowDescriptionError> {
        let mut words = Words {
            rest: text,
            number: 0,
        };
        words.keyword(b"permit", Error::Action)?;
        words.keyword(b"out", Error::Direction)?;
        let protocol = protocol(words.next()?)?;
        words.keyword(b"from", Error::From)?;
        let remote = address(words.next()?)?;
        let remote_ports = remote_ports(&mut words)?;
        let word = words.next()?;
        let local = address(word)?;
        if local.excludes_family_of(&remote) {
            return Err(Error::MixedFamilies(word.number));
        }
        let local_ports = local_ports(&mut words)?;
        Ok(Self {
            protocol,
            remote,
            remote_ports,
            local,
            local_ports,
        })
    }
}

/// The words that are left, and the number of the last.
struct Words<'a> {
    rest: &'a [u8],
    number: u8,
}

#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a [u8],
    number: u8,
}

impl<'a> Words<'a> {
    /// The next word. Nothing is read behind the tenth, so the number does not overflow.
    fn next(&mut self) -> Result<Word<'a>, Error> {
        self.number = self.number.saturating_add(1);
        let number = self.number;
        let text = self.rest.trim_ascii_start();
        let len = text
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(text.len());
        let (text, rest) = text.split_at_checked(len).unwrap_or_default();
        self.rest = rest;
        if text.is_empty() {
            Err(Error::Ended(number))
        } else {
            Ok(Word { text, number })
        }
    }

    fn keyword(&mut self, keyword: &[u8], error: fn(u8) -> Error) -> Result<(), Error> {
        let word = self.next()?;
        if word.text == keyword {
            Ok(())
        } else {
            Err(error(word.number))
        }
    }
}

fn protocol(word: Word<'_>) -> Result<Option<u8>, Error> {
    if word.text == b"ip" {
        return Ok(None);
    }
    let protocol = number(word.text).and_then(|number| u8::try_from(number).ok());
    Ok(Some(protocol.ok_or(Error::Protocol(word.number))?))
}

fn address(word: Word<'_>) -> Result<AddressMatch, Error> {
    let text = match word.text {
        b"any" | b"assigned" => return Ok(AddressMatch::Any),
        [b'!', ..] => return Err(Error::Inverted(word.number)),
        text => str::from_utf8(text).map_err(|_| Error::Address(word.number))?,
    };
    let (host, len) = match text.split_once('/') {
        Some((host, len)) => (host, Some(len)),
        None => (text, None),
    };
    if let Ok(address) = host.parse() {
        Ok(AddressMatch::v4(address, prefix_len(len, 32, word.number)?))
    } else if let Ok(address) = host.parse() {
        Ok(AddressMatch::v6(
            address,
            prefix_len(len, 128, word.number)?,
        ))
    } else {
        Err(Error::Address(word.number))
    }
}

/// The length behind the slash; without one, all bits of the address.
fn prefix_len(text: Option<&str>, bits: u8, word: u8) -> Result<u8, Error> {
    let Some(text) = text else {
        return Ok(bits);
    };
    number(text.as_bytes())
        .and_then(|len| u8::try_from(len).ok())
        .filter(|len| *len <= bits)
        .ok_or(Error::PrefixLength(word))
}

/// The ports behind REMOTE, and `to`.
fn remote_ports(words: &mut Words<'_>) -> Result<Ports, Error> {
    let word = words.next()?;
    if word.text == b"to" {
        return Ok(Ports::new());
    }
    let ports = ports(word)?;
    words.keyword(b"to", Error::Ports)?;
    Ok(ports)
}

/// The ports behind LOCAL, and the end.
fn local_ports(words: &mut Words<'_>) -> Result<Ports, Error> {
    let ports = match words.next() {
        Err(_) => return Ok(Ports::new()),
        Ok(word) if word.text.first().is_some_and(u8::is_ascii_digit) => ports(word)?,
        Ok(word) => return Err(Error::Option(word.number)),
    };
    words
        .next()
        .map_or(Ok(ports), |word| Err(Error::Option(word.number)))
}

fn ports(word: Word<'_>) -> Result<Ports, Error> {
    let mut ports = Ports::new();
    for part in word.text.split(|octet| *octet == b',') {
        let range = port_range(part).ok_or(Error::Ports(word.number))?;
        ports
            .try_push(range)
            .map_err(|_| Error::TooManyPorts(word.number))?;
    }
    Ok(ports)
}

/// `a`, or `a-b` with a at most b.
fn port_range(text: &[u8]) -> Option<(u16, u16)> {
    let mut ends = text.splitn(2, |octet| *octet == b'-');
    let first = number(ends.next()?)?;
    let last = ends.next().map_or(Some(first), number)?;
    (first <= last).then_some((first, last))
}

/// A decimal number without sign and without leading zeros, which would be octal to some.
fn number(text: &[u8]) -> Option<u16> {
    if matches!(text, [] | [b'0', _, ..]) {
        return None;
    }
    text.iter().try_fold(0u16, |number, octet| {
        let digit = octet.is_ascii_digit().then(|| octet - b'0')?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}
