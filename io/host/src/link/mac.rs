//! MAC addresses as text.

/// A hardware address as `ip` writes it.
pub fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// The address that [`mac_text`] wrote.
pub(super) fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut mac {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hardware_address_survives_its_text() {
        let mac = [2, 0, 0xab, 0, 1, 0xff];
        assert_eq!(parse_mac(&mac_text(mac)), Some(mac));
        assert_eq!(parse_mac("02:00"), None);
        assert_eq!(parse_mac("02:00:00:00:00:00:00"), None);
    }
}
