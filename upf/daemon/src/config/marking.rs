//! List `dscp`: DSCP of the outer headers towards gNBs and UPFs, by QFI (TS 23.501, 5.7.1.5).

use super::fields::{At, Fields};
use super::kind::number;

/// Packets of one QoS flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Marking {
    /// What packets are marked with, 0 to 63 (TS 38.415, 5.5.3.3).
    pub qfi: At<u8>,
    /// Their outer headers' DSCP (RFC 2474).
    pub dscp: u8,
}

impl Marking {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let qfi = fields.required("qfi", &number(0, 63, ""));
        let dscp = fields.required("dscp", &number(0, 63, ""));
        Some(Self {
            qfi: qfi?,
            dscp: dscp?.value,
        })
    }

    /// No QFI is there twice.
    pub(super) fn apart(all: &[Self], fields: &mut Fields<'_, '_>) {
        for (at, marking) in all.iter().enumerate() {
            let before = all.iter().take(at);
            let twice = before
                .into_iter()
                .find(|m| m.qfi.value == marking.qfi.value);
            if let Some(first) = twice {
                let what = format!("{} is also in line {}", marking.qfi.value, first.qfi.line);
                let key = format!("dscp[{at}].qfi");
                let expected = "each QFI once";
                fields
                    .report()
                    .problem(marking.qfi.line, key, what, expected);
            }
        }
    }
}
