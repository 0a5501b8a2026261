//! QoS flow descriptions (TS 24.501, 9.11.4.12): what a UE is told of its QoS flows.

use crate::qos::{rate, read_rate};
use crate::session_cause::SessionCause;

/// Operation code of a flow description.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FlowOperation {
    /// There is a new one.
    Create = 1,
    /// Delete.
    Delete = 2,
    /// Modify.
    Modify = 3,
}

/// A QoS flow; rates are bits per second, down and up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowDescription {
    /// QFI; 0 for a flow that a UE requests.
    pub qfi: u8,
    /// Operation code.
    pub operation: FlowOperation,
    /// 5QI; none if it does not change.
    pub five_qi: Option<u8>,
    /// Guaranteed bit rates; none where there are none.
    pub guaranteed_bps: Option<(u64, u64)>,
    /// Maximum bit rates; none where there are none.
    pub maximum_bps: Option<(u64, u64)>,
}

/// Parameters of the TS: 5QI; GFBR up and down; MFBR up and down.
const FIVE_QI: u8 = 1;
const RATES: [u8; 4] = [2, 3, 4, 5];

impl FlowDescription {
    /// A new flow without guaranteed bit rates.
    pub fn new(qfi: u8, five_qi: u8) -> Self {
        Self {
            qfi,
            operation: FlowOperation::Create,
            five_qi: Some(five_qi),
            guaranteed_bps: None,
            maximum_bps: None,
        }
    }

    /// The flow is gone.
    pub fn deleted(qfi: u8) -> Self {
        Self {
            operation: FlowOperation::Delete,
            five_qi: None,
            ..Self::new(qfi, 0)
        }
    }

    fn rates(&self) -> [Option<u64>; 4] {
        let (guaranteed, maximum) = (self.guaranteed_bps, self.maximum_bps);
        [
            guaranteed.map(|(_, up)| up),
            guaranteed.map(|(down, _)| down),
            maximum.map(|(_, up)| up),
            maximum.map(|(down, _)| down),
        ]
    }
}

/// The octets of flows.
pub(crate) fn write(flows: &[FlowDescription]) -> Vec<u8> {
    let mut octets = Vec::new();
    for flow in flows {
        let (mut number, mut parameters) = (0, Vec::new());
        if let Some(five_qi) = flow.five_qi {
            number += 1;
            parameters.extend_from_slice(&[FIVE_QI, 1, five_qi]);
        }
        for (kind, bps) in RATES.into_iter().zip(flow.rates()) {
            if let Some(bps) = bps {
                number += 1;
                parameters.extend_from_slice(&[kind, 3]);
                parameters.extend_from_slice(&rate(bps));
            }
        }
        // E: parameters follow (of a change: all of them).
        let follows = u8::from(number > 0) << 6;
        octets.extend_from_slice(&[
            flow.qfi & 0x3f,
            (flow.operation as u8) << 5,
            follows | number,
        ]);
        octets.extend_from_slice(&parameters);
    }
    octets
}

/// Flows of octets, or why they are none: #84.
pub(crate) fn read(mut octets: &[u8]) -> Result<Vec<FlowDescription>, SessionCause> {
    const WRONG: SessionCause = SessionCause::SYNTAX_OF_QOS;
    let mut flows = Vec::new();
    while let [qfi, operation, parameters, rest @ ..] = octets {
        let operation = match operation >> 5 {
            1 => FlowOperation::Create,
            2 => FlowOperation::Delete,
            3 => FlowOperation::Modify,
            _ => return Err(WRONG),
        };
        if *qfi > 63 || flows.len() == 64 {
            return Err(WRONG);
        }
        let mut flow = FlowDescription {
            operation,
            ..FlowDescription::deleted(*qfi)
        };
        octets = rest;
        let (mut guaranteed, mut maximum) = ([None; 2], [None; 2]);
        for _ in 0..parameters & 0x3f {
            let [kind, length, rest @ ..] = octets else {
                return Err(WRONG);
            };
            let value = rest.split_at_checked(usize::from(*length));
            let (value, rest) = value.ok_or(WRONG)?;
            match (*kind, value) {
                (FIVE_QI, [five_qi]) => flow.five_qi = Some(*five_qi),
                (2..=5, [a, b, c]) => {
                    let bps = Some(read_rate([*a, *b, *c]));
                    let of = if *kind < 4 {
                        &mut guaranteed
                    } else {
                        &mut maximum
                    };
                    of[usize::from(*kind & 1)] = bps;
                }
                (FIVE_QI..=5, _) => return Err(WRONG),
                // Averaging window, EPS bearer: of no use here.
                _ => {}
            }
            octets = rest;
        }
        let both = |[up, down]: [Option<u64>; 2]| {
            let is_any = up.is_some() || down.is_some();
            is_any.then(|| (down.unwrap_or(0), up.unwrap_or(0)))
        };
        (flow.guaranteed_bps, flow.maximum_bps) = (both(guaranteed), both(maximum));
        flows.push(flow);
    }
    match octets {
        [] => Ok(flows),
        _ => Err(WRONG),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_octets_of_flows_are_those_of_the_ts() {
        let flows = [
            FlowDescription {
                guaranteed_bps: Some((64_000, 32_000)),
                maximum_bps: Some((128_000, 64_000)),
                ..FlowDescription::new(2, 1)
            },
            FlowDescription::deleted(3),
        ];
        let octets = write(&flows);
        let expected = [
            &[2, 0x20, 0x45, 1, 1, 1][..],
            // 32, 64, 64 and 128 kbit/s, in multiples of 16 and 64 kbit/s.
            &[2, 3, 3, 0, 2, 3, 3, 4, 0, 1],
            &[4, 3, 4, 0, 1, 5, 3, 4, 0, 2],
            &[3, 0x40, 0],
        ]
        .concat();
        assert_eq!(octets, expected);
        assert_eq!(read(&octets), Ok(flows.to_vec()));
        assert_eq!(read(&octets[..8]), Err(SessionCause::SYNTAX_OF_QOS));
    }

    proptest! {
        #[test]
        fn any_octets_are_flows_or_none(
            octets in proptest::collection::vec(any::<u8>(), 0..96),
        ) {
            if let Ok(flows) = read(&octets) {
                prop_assert!(read(&write(&flows)).is_ok());
            }
        }
    }
}
