//! Flow descriptions of SDF filters: what is read has a text that reads the same.

use sluice_wire::flow_description::FlowDescription;

/// Reads a text, and the text that is written of it.
pub fn flow_description(data: &[u8]) {
    let flow = match FlowDescription::parse(data) {
        Ok(flow) => flow,
        Err(error) => return assert!((1..=10).contains(&error.word()), "{error}"),
    };
    let text = flow.to_string();
    let again = FlowDescription::parse(text.as_bytes());
    assert_eq!(again.as_ref(), Ok(&flow), "{text}");
    assert_eq!(flow.to_string(), text);
    for ports in [&flow.remote_ports, &flow.local_ports] {
        assert!(ports.iter().all(|(first, last)| first <= last));
    }
}
