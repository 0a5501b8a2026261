//! SDF filters that packets of cases often meet and often miss.

use super::Generator;
use crate::spec::*;
use crate::world::*;

/// Ports of servers in [`Generator::ports`], of UEs, and lists that hold some of them at their ends.
pub const REMOTE_PORTS: [u16; 7] = [80, 80, 80, 81, 443, 0, 65_535];
pub const LOCAL_PORTS: [u16; 4] = [4000, 4000, 4001, 4002];
const REMOTE_LISTS: [&str; 9] = [
    "80",
    "80-81",
    "79-80",
    "81-443",
    "1,80",
    "443",
    "82-65535",
    "0-79",
    "1-3,5,81,90-100,65535",
];
const LOCAL_LISTS: [&str; 5] = ["4000", "4000-4001", "4001-5000", "0-65535", "3999,4002"];

/// Flow descriptions that RFC 6733, 4.3.1 or TS 29.212, 5.4.2 do not allow.
const WRONG: [&str; 13] = [
    "",
    "permit out ip from any",
    "deny out ip from any to assigned",
    "permit in ip from any to assigned",
    "permit out ip from !198.51.100.80 to assigned",
    "permit out !17 from any to assigned",
    "permit out udp from any to assigned",
    "permit out 256 from any to assigned",
    "permit out ip from 198.51.100.80/33 to assigned",
    "permit out 17 from any 65536 to assigned",
    "permit out ip from 198.51.100.80 to 2001:db8::/64",
    "permit out 17 from any 81-80 to assigned",
    "permit out 6 from any to assigned established",
];

impl Generator {
    /// Filters of a PDR that is there in any case: mostly such that stand for everything.
    pub(super) fn filters(&mut self, ue: &UeSpec) -> Vec<FilterSpec> {
        match self.rng.below(8) {
            0 => vec![FilterSpec::all()],
            1 if self.features.filters => {
                vec![FilterSpec::solicitations(), FilterSpec::all()]
            }
            2 if self.features.filters => self.flow_filters(ue),
            _ => vec![],
        }
    }

    /// PDRs beside the default ones, in both directions, before and behind them.
    pub(super) fn filtered_pdrs(&mut self, rules: &mut Rules, ue: UeSpec) {
        for id in 5..=8 {
            if self.rng.one_in(2) {
                continue;
            }
            let like = rules.pdrs[self.rng.below(2) as usize].clone();
            let named = match like.f_teid {
                TeidSpec::None => self.named(ue),
                _ => like.ue,
            };
            rules.pdrs.push(PdrSpec {
                id,
                precedence: self.rng.pick(&[1, 50, 100, 200, 255, 300]),
                ue: named,
                filters: self.flow_filters(&ue),
                ..like
            });
        }
        self.bidirectional(rules);
    }

    /// A filter that gets an ID, and stands behind it in another PDR as well.
    fn bidirectional(&mut self, rules: &mut Rules) {
        let mut filtered = rules.pdrs.iter_mut().filter(|p| !p.filters.is_empty());
        let (Some(first), Some(second)) = (filtered.next(), filtered.next_back()) else {
            return;
        };
        let id = first.id.into();
        first.filters[0].id = Some(id);
        match self.rng.one_in(2) {
            true => second.filters = vec![FilterSpec::of_id(id)],
            false => second.filters.push(FilterSpec::of_id(id)),
        }
    }

    pub(super) fn flow_filters(&mut self, ue: &UeSpec) -> Vec<FilterSpec> {
        let several = match self.rng.below(4) {
            0 => self.rng.within(2, 4),
            _ => 1,
        };
        (0..several).map(|_| self.flow_filter(ue)).collect()
    }

    fn flow_filter(&mut self, ue: &UeSpec) -> FilterSpec {
        let mut filter = FilterSpec::default();
        match self.rng.below(8) {
            0 => {
                filter.class = Some(
                    self.rng
                        .pick(&[[0xb8, 0xff], [0xb9, 0xfc], [0, 0x03], [3, 3]]),
                )
            }
            1 => filter.index = Some(self.rng.pick(&[0x0fa0_0050, 0x0fa1_0050, 28 << 16])),
            2 => filter.label = Some(self.rng.pick(&[0, 0x12345, 0xfffff])),
            _ => {}
        }
        let is_empty = filter == FilterSpec::default();
        if is_empty || self.rng.one_in(3) {
            filter.flow = Some(self.flow_text(ue));
        }
        filter
    }

    fn flow_text(&mut self, ue: &UeSpec) -> String {
        let protocols = ["ip", "ip", "17", "17", "6", "1", "58", "132", "50", "51"];
        let protocol = self.rng.pick(&protocols);
        let remote = self.remote_text();
        let local = match self.local_text(ue) {
            // Of two versions no packet is.
            local
                if is_ipv6(&local) != is_ipv6(&remote)
                    && is_address(&local)
                    && is_address(&remote) =>
            {
                "assigned".to_owned()
            }
            local => local,
        };
        let remote_ports = self.list(&REMOTE_LISTS);
        let local_ports = self.list(&LOCAL_LISTS);
        format!("permit out {protocol} from {remote}{remote_ports} to {local}{local_ports}")
    }

    /// A list of ports, or none.
    fn list(&mut self, lists: &[&str]) -> String {
        match self.rng.one_in(3) {
            true => format!(" {}", self.rng.pick(lists)),
            false => String::new(),
        }
    }

    fn remote_text(&mut self) -> String {
        let (ipv4, ipv6) = (SERVER, SERVER6);
        match self.rng.below(16) {
            0 => format!("{ipv4}"),
            1 => format!("{ipv4}/32"),
            2 => format!("{ipv4}/31"),
            3 => "198.51.100.0/24".to_owned(),
            4 => "198.51.100.82/31".to_owned(),
            5 => "0.0.0.0/0".to_owned(),
            6 => format!("{ELSEWHERE}"),
            7 => format!("{ipv6}"),
            8 => format!("{ipv6}/127"),
            9 => "2001:db8:6::/64".to_owned(),
            10 => "::/0".to_owned(),
            11 => "assigned".to_owned(),
            _ => "any".to_owned(),
        }
    }

    fn local_text(&mut self, ue: &UeSpec) -> String {
        match (self.rng.below(8), ue.ipv4, ue.ipv6) {
            (0, Some(ipv4), _) => format!("{ipv4}"),
            (1, _, Some(ipv6)) => format!("{ipv6}/64"),
            (2, _, Some(ipv6)) => format!("{ipv6}/63"),
            (3, _, _) => "any".to_owned(),
            _ => "assigned".to_owned(),
        }
    }

    /// One thing for which a session must be refused, and told why.
    pub(super) fn wrong_in_one_place(&mut self, rules: &mut Rules) {
        let at = self.rng.below(rules.pdrs.len() as u64) as usize;
        match self.rng.below(6) {
            3 => {
                let pdr = &mut rules.pdrs[at];
                match self.rng.below(3) {
                    0 => pdr.far = 77,
                    1 => pdr.qers.push(77),
                    _ => pdr.urrs.push(77),
                }
            }
            4 => {
                let at = self.rng.below(rules.fars.len() as u64) as usize;
                rules.fars[at].bar = Some(77);
            }
            5 => match self.rng.below(3) {
                0 => rules.fars.extend(rules.fars.first().cloned()),
                1 => rules.qers.extend(rules.qers.first().cloned()),
                _ => rules.pdrs.extend(rules.pdrs.first().cloned()),
            },
            0 if self.features.ipv6 => rules.pdn_type = Some(self.rng.pick(&[4, 5, 7])),
            1 if self.features.ipv6 => {
                let ue = self.wrong_ue(rules.pdrs[at].ue);
                rules.pdrs[at].ue = ue;
            }
            _ if self.features.filters => {
                let filter = match self.rng.below(4) {
                    0 => FilterSpec::of_id(777),
                    _ => FilterSpec::flow(self.rng.pick(&WRONG)),
                };
                rules.pdrs[at].filters.push(filter);
            }
            _ => {}
        }
    }
}

fn is_ipv6(text: &str) -> bool {
    text.contains(':')
}

fn is_address(text: &str) -> bool {
    text.contains('.') || is_ipv6(text)
}
