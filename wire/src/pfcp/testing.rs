//! Helpers of the tests.

use std::fmt::Debug;

use super::element::Element;
use super::writer::Writer;

/// The octets of an element's contents.
pub(crate) fn encoded<'a>(element: &impl Element<'a>) -> Vec<u8> {
    let mut buffer = [0; 2048];
    let mut out = Writer::new(&mut buffer);
    element.encode(&mut out).expect("it fits");
    out.written().to_vec()
}

/// Checks that the element is written as `octets` and that `octets` are read as the element.
#[track_caller]
pub(crate) fn check_coding<'a, E: Element<'a> + PartialEq + Debug>(element: &E, octets: &'a [u8]) {
    assert_eq!(encoded(element), octets, "written");
    assert_eq!(E::decode(octets).as_ref(), Ok(element), "read");
    for cut in 0..octets.len() {
        // Any answer will do, but there must be one.
        let _ = E::decode(&octets[..cut]);
    }
}
