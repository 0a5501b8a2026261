//! Smaller cases that still fail.

use crate::spec::*;

/// Attempts, so that an unlucky case ends.
const ATTEMPTS: usize = 3_000;

/// The smallest case found by leaving out and simplifying one thing after the other.
pub fn shrink(mut case: Case, mut fails: impl FnMut(&Case) -> bool) -> Case {
    let mut attempts = 0;
    'again: loop {
        for candidate in smaller(&case) {
            attempts += 1;
            if attempts > ATTEMPTS {
                return case;
            }
            if fails(&candidate) {
                case = candidate;
                continue 'again;
            }
        }
        return case;
    }
}

fn smaller(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let n = case.steps.len();
    for len in [n / 2, n / 4, 2, 1] {
        for at in (0..n).step_by(len.max(1)).filter(|_| len > 0) {
            let mut fewer = case.clone();
            fewer.steps.drain(at..(at + len).min(n));
            all.push(fewer);
        }
    }
    for (at, step) in case.steps.iter().enumerate() {
        for step in simpler(step) {
            let mut case = case.clone();
            case.steps[at] = step;
            all.push(case);
        }
    }
    all
}

fn simpler(step: &Step) -> Vec<Step> {
    match step {
        Step::Establish(slot, rules) => {
            let rules = simpler_rules(rules).into_iter();
            // Without a PDR or FAR it would be no Session Establishment Request.
            let rules = rules.filter(|r| !r.pdrs.is_empty() && !r.fars.is_empty());
            rules.map(|r| Step::Establish(*slot, r)).collect()
        }
        Step::Modify(slot, change) => {
            let changes = simpler_change(change).into_iter();
            changes.map(|c| Step::Modify(*slot, Box::new(c))).collect()
        }
        Step::Packets(packets) => simpler_packets(packets),
        Step::Pfds(told) => {
            let mut all = Vec::new();
            without_one(told, told, |whole, fewer| *whole = fewer, &mut all);
            all.retain(|told| !told.is_empty());
            all.into_iter().map(Step::Pfds).collect()
        }
        Step::Delete(_) | Step::DeleteSets(_) | Step::Advance(_) => Vec::new(),
    }
}

/// All ways to leave out one element of a list.
fn without_one<T: Clone, C: Clone>(
    whole: &C,
    list: &[T],
    put: impl Fn(&mut C, Vec<T>),
    all: &mut Vec<C>,
) {
    for at in 0..list.len() {
        let mut fewer = list.to_vec();
        fewer.remove(at);
        let mut smaller = whole.clone();
        put(&mut smaller, fewer);
        all.push(smaller);
    }
}

/// Rules with something left out, each in its turn.
pub fn simpler_rules(rules: &Rules) -> Vec<Rules> {
    let mut all = Vec::new();
    without_one(rules, &rules.pdrs, |r, l| r.pdrs = l, &mut all);
    without_one(rules, &rules.fars, |r, l| r.fars = l, &mut all);
    without_one(rules, &rules.sets, |r, l| r.sets = l, &mut all);
    for bar in &rules.bars {
        let mut fewer = rules.clone();
        fewer.bars.retain(|b| b.id != bar.id);
        let fars = fewer.fars.iter_mut().filter(|f| f.bar == Some(bar.id));
        fars.for_each(|f| f.bar = None);
        all.push(fewer);
    }
    for qer in &rules.qers {
        let mut fewer = rules.clone();
        fewer.qers.retain(|q| q.id != qer.id);
        fewer
            .pdrs
            .iter_mut()
            .for_each(|p| p.qers.retain(|q| *q != qer.id));
        all.push(fewer);
    }
    for urr in &rules.urrs {
        let mut fewer = rules.clone();
        fewer.urrs.retain(|u| u.id != urr.id);
        fewer
            .pdrs
            .iter_mut()
            .for_each(|p| p.urrs.retain(|u| *u != urr.id));
        all.push(fewer);
    }
    simpler_pdrs(rules, &mut all);
    for at in 0..rules.qers.len() {
        let simple = QerSpec {
            id: rules.qers[at].id,
            open: (true, true),
            mbr: None,
            gbr: None,
            qfi: None,
        };
        if rules.qers[at] != simple {
            let mut simpler = rules.clone();
            simpler.qers[at] = simple;
            all.push(simpler);
        }
    }
    all
}

fn simpler_pdrs(rules: &Rules, all: &mut Vec<Rules>) {
    for at in 0..rules.pdrs.len() {
        let pdr = &rules.pdrs[at];
        let mut put = |pdr: PdrSpec| {
            if pdr != rules.pdrs[at] {
                let mut simpler = rules.clone();
                simpler.pdrs[at] = pdr;
                all.push(simpler);
            }
        };
        put(PdrSpec {
            qfis: vec![],
            ..pdr.clone()
        });
        put(PdrSpec {
            filters: vec![],
            ..pdr.clone()
        });
        put(PdrSpec {
            active: vec![],
            ..pdr.clone()
        });
        put(PdrSpec {
            application: None,
            ..pdr.clone()
        });
        for filters in simpler_filters(&pdr.filters) {
            put(PdrSpec {
                filters,
                ..pdr.clone()
            });
        }
        for ue in simpler_ues(pdr.ue) {
            put(PdrSpec { ue, ..pdr.clone() });
        }
        put(PdrSpec {
            qers: vec![],
            ..pdr.clone()
        });
        put(PdrSpec {
            urrs: vec![],
            ..pdr.clone()
        });
        put(PdrSpec {
            instance: None,
            ..pdr.clone()
        });
    }
}

/// One address alone.
fn simpler_ues(ue: UeSpec) -> [UeSpec; 2] {
    match (ue.ipv4, ue.ipv6) {
        (Some(_), Some(_)) => [UeSpec { ipv4: None, ..ue }, UeSpec { ipv6: None, ..ue }],
        _ => [ue, ue],
    }
}

/// One filter less, or one with one condition or one part of its flow description less.
fn simpler_filters(filters: &Vec<FilterSpec>) -> Vec<Vec<FilterSpec>> {
    let mut all = Vec::new();
    without_one(filters, filters, |f, l| *f = l, &mut all);
    for (at, filter) in filters.iter().enumerate() {
        let without = |change: fn(&mut FilterSpec)| {
            let mut simple = filter.clone();
            change(&mut simple);
            simple
        };
        let mut simple = vec![
            without(|f| f.class = None),
            without(|f| f.index = None),
            without(|f| f.label = None),
            without(|f| f.id = None),
            without(|f| f.flow = None),
        ];
        let texts = filter.flow.iter().flat_map(|t| simpler_texts(t));
        simple.extend(texts.map(|flow| FilterSpec {
            flow: Some(flow),
            ..filter.clone()
        }));
        simple.retain(|s| s != filter && *s != FilterSpec::default());
        for filter in simple {
            let mut filters = filters.clone();
            filters[at] = filter;
            all.push(filters);
        }
    }
    all
}

/// `permit out PROTOCOL from ADDRESS [PORTS] to ADDRESS [PORTS]` with something left out.
fn simpler_texts(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').collect();
    let mut all = Vec::new();
    for at in 2..words.len() {
        let mut words = words.clone();
        match words[at - 1] {
            "from" | "to" => words[at] = "any",
            "out" => words[at] = "ip",
            _ if words[at] == "from" || words[at] == "to" => continue,
            // Ports.
            _ => drop(words.remove(at)),
        }
        all.push(words.join(" "));
    }
    all
}

/// A change with something left out, each in its turn.
pub fn simpler_change(change: &Change) -> Vec<Change> {
    let mut all = Vec::new();
    without_one(
        change,
        &change.remove_pdrs,
        |c, l| c.remove_pdrs = l,
        &mut all,
    );
    without_one(
        change,
        &change.remove_fars,
        |c, l| c.remove_fars = l,
        &mut all,
    );
    without_one(
        change,
        &change.remove_qers,
        |c, l| c.remove_qers = l,
        &mut all,
    );
    without_one(
        change,
        &change.remove_urrs,
        |c, l| c.remove_urrs = l,
        &mut all,
    );
    without_one(change, &change.pdrs, |c, l| c.pdrs = l, &mut all);
    without_one(change, &change.fars, |c, l| c.fars = l, &mut all);
    without_one(change, &change.qers, |c, l| c.qers = l, &mut all);
    without_one(change, &change.bars, |c, l| c.bars = l, &mut all);
    without_one(
        change,
        &change.remove_bars,
        |c, l| c.remove_bars = l,
        &mut all,
    );
    if change.discards_held {
        all.push(Change {
            discards_held: false,
            ..change.clone()
        });
    }
    without_one(change, &change.urrs, |c, l| c.urrs = l, &mut all);
    without_one(change, &change.query, |c, l| c.query = l, &mut all);
    for create in simpler_rules(&change.create) {
        all.push(Change {
            create,
            ..change.clone()
        });
    }
    if change.inactivity.is_some() {
        all.push(Change {
            inactivity: None,
            ..change.clone()
        });
    }
    if change.query_all {
        all.push(Change {
            query_all: false,
            ..change.clone()
        });
    }
    all
}

fn simpler_packets(packets: &Vec<PacketSpec>) -> Vec<Step> {
    let mut all = Vec::new();
    if packets.len() > 1 {
        without_one(packets, packets, |p, l| *p = l, &mut all);
    }
    for at in 0..packets.len() {
        let p = &packets[at];
        for simple in simpler_packet(p).into_iter().filter(|s| s != p) {
            let mut packets = packets.clone();
            packets[at] = simple;
            all.push(packets);
        }
    }
    all.into_iter().map(Step::Packets).collect()
}

/// Layer by layer sound, or without what is unusual.
fn simpler_packet(p: &PacketSpec) -> Vec<PacketSpec> {
    let plain = PacketSpec {
        interface: p.interface,
        public_of: p.public_of,
        ..PacketSpec::new(p.entry, p.remote)
    };
    vec![
        plain.clone(),
        PacketSpec {
            inner: plain.inner,
            ..p.clone()
        },
        PacketSpec {
            inner6: plain.inner6.clone(),
            ..p.clone()
        },
        PacketSpec {
            inner6: Ipv6Spec {
                extensions: vec![],
                ..p.inner6.clone()
            },
            ..p.clone()
        },
        PacketSpec {
            ports: plain.ports,
            ..p.clone()
        },
        PacketSpec {
            icmp: plain.icmp,
            flags: plain.flags,
            checksum: plain.checksum,
            ..p.clone()
        },
        with_tcp(p, None),
        with_tcp(p, p.tcp.as_ref().map(sound)),
        PacketSpec {
            outer: plain.outer,
            ..p.clone()
        },
        PacketSpec {
            gtpu: plain.gtpu.clone(),
            ..p.clone()
        },
        PacketSpec {
            udp: plain.udp,
            ..p.clone()
        },
        PacketSpec {
            eth: plain.eth.clone(),
            ..p.clone()
        },
        PacketSpec {
            damage: plain.damage,
            ..p.clone()
        },
        PacketSpec {
            cut: None,
            ..p.clone()
        },
        PacketSpec {
            spoofed: None,
            ..p.clone()
        },
        PacketSpec {
            payload_len: plain.payload_len,
            ..p.clone()
        },
    ]
}

fn with_tcp(packet: &PacketSpec, tcp: Option<TcpSpec>) -> PacketSpec {
    let packet = packet.clone();
    PacketSpec { tcp, ..packet }
}

/// A whole segment.
fn sound(tcp: &TcpSpec) -> TcpSpec {
    TcpSpec {
        words_error: 0,
        len: 60,
        ..tcp.clone()
    }
}
