//! Section `n2`: towards gNBs (NGAP over SCTP, TS 38.412).

use super::kinds;
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{ip, number, word};
use sluice_sctp::{AllowList, Choice, Config, Opening, Prefix};
use std::net::IpAddr;

/// What carries SCTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// IP protocol 132.
    Ip,
    /// UDP (RFC 6951).
    Udp,
}

/// Whose SCTP, by its name.
const STACKS: &[(&str, Choice)] = &[
    ("auto", Choice::Auto),
    ("kernel", Choice::Kernel),
    ("userspace", Choice::Userspace),
];

/// Where gNBs find the AMF.
#[derive(Clone, Debug)]
pub struct N2Section {
    /// The address; none if it could not be read.
    pub listen: Option<At<IpAddr>>,
    /// Further addresses of the same association (multihoming).
    pub more: Vec<At<IpAddr>>,
    /// Whose SCTP.
    pub sctp: Choice,
    /// What carries SCTP.
    pub over: Over,
    /// Port of SCTP.
    pub port: u16,
    /// Port of UDP, where that carries SCTP.
    pub udp_port: u16,
    /// Who may speak to us.
    pub gnbs: Vec<Prefix>,
}

impl N2Section {
    /// What is to be opened at this address, the first one.
    pub fn opening(&self, listen: IpAddr) -> Opening {
        let more = self.more.iter().map(|at| at.value);
        Opening {
            choice: self.sctp,
            addresses: std::iter::once(listen).chain(more).collect(),
            udp_port: (self.over == Over::Udp).then_some(self.udp_port),
            config: Config::new(self.port, AllowList::new(self.gnbs.clone())),
            listens: true,
        }
    }

    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let listen = fields.required("listen", &ip());
        let more = fields.list("more_addresses", &ip());
        let sctp = fields.or("sctp", "auto", &word(STACKS)).value;
        let over = word(&[("ip", Over::Ip), ("udp", Over::Udp)]);
        let over = fields.or("over", "ip", &over).value;
        let port = fields.or("port", "38412", &number(1, u16::MAX, "")).value;
        let udp_port = fields
            .or("udp_port", "9899", &number(1, u16::MAX, ""))
            .value;
        if over == Over::Ip && fields.has("udp_port") {
            let (line, key) = (fields.line(), fields.key("udp_port"));
            let what = "says nothing while SCTP is over IP";
            fields
                .report()
                .warning(line, key, what, "over: udp, or no udp_port");
        }
        let gnbs = fields.required_list("gnbs", &kinds::gnbs());
        if let Some(listen) = &listen
            && listen.value.is_unspecified()
        {
            let (line, key) = (listen.line, fields.key("listen"));
            let what = format!("got '{}'", listen.value);
            let expected = "the address of one interface: SCTP tells it to gNBs";
            fields.report().problem(line, key, what, expected);
        }
        if let Some(listen) = &listen
            && let Some(other) = more
                .iter()
                .find(|one| one.value.is_ipv4() != listen.value.is_ipv4())
        {
            let (line, key) = (other.line, fields.key("more_addresses"));
            let what = format!("{} and {} are of two families", other.value, listen.value);
            fields
                .report()
                .problem(line, key, what, "addresses of one family");
        }
        Self {
            listen,
            more,
            sctp,
            over,
            port,
            udp_port,
            gnbs: gnbs.into_iter().map(|at| at.value).collect(),
        }
    }
}
