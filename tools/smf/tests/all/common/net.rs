//! An SMF and a UPF on a simulated wire with its own clock.

use std::net::SocketAddr;

use sluice_n4::{Config, Instant, NodeId, Outbox};
use sluice_smf_emulator::{
    Change, Changed, CpNode, Dialect, Done, Established, Machine, SmfError, Ticket, Usage,
};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::value::NtpTime;

use super::upf::FakeUpf;
use super::{SMF, UPF, plan};

pub const PORT: u16 = 8805;

/// A datagram as it was on the wire.
#[derive(Clone, Debug)]
pub struct Frame {
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

#[derive(Default)]
pub struct Sent(pub Vec<(SocketAddr, Vec<u8>)>);

impl Outbox for Sent {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.0.push((to, bytes.to_vec()));
    }
}

pub struct Net {
    pub now: Instant,
    pub smf: Machine,
    pub upf: FakeUpf,
    /// Everything that was sent, lost or not.
    pub log: Vec<Frame>,
    /// This many of the next datagrams are lost.
    pub lose: usize,
}

pub fn smf_address() -> SocketAddr {
    (SMF, PORT).into()
}

pub fn upf_address() -> SocketAddr {
    (UPF, PORT).into()
}

impl Net {
    pub fn new(dialect: Dialect) -> Self {
        let cp = CpNode::new(SMF);
        let mut config = Config::new(NodeId::v4(SMF), NtpTime(0xe000_0000));
        config.limits.cached_requests = 1024;
        config.limits.in_flight = 64;
        Self {
            now: Instant(1),
            smf: Machine::new(dialect, cp, upf_address(), config),
            upf: FakeUpf::new(UPF, 0xe000_0001),
            log: Vec::new(),
            lose: 0,
        }
    }

    /// With an association.
    pub fn associated(dialect: Dialect) -> Self {
        let mut net = Self::new(dialect);
        let done = net.run(|smf, now, out| smf.associate(now, out));
        assert!(matches!(done, Ok(Done::Associated(_))), "{done:?}");
        net
    }

    /// With an association and a session.
    pub fn with_session(dialect: Dialect) -> (Self, Established) {
        let mut net = Self::associated(dialect);
        let established = net.establish(dialect, 2).unwrap();
        (net, established)
    }

    pub fn establish(&mut self, dialect: Dialect, n: u8) -> Result<Established, SmfError> {
        let plan = plan(dialect, n);
        self.run(|smf, now, out| smf.establish(now, plan, out))
            .map(|done| match done {
                Done::Established(established) => established,
                other => panic!("{other:?}"),
            })
    }

    pub fn change(&mut self, cp_seid: Seid, change: Change) -> Result<Changed, SmfError> {
        self.run(|smf, now, out| smf.change(now, cp_seid, change, out))
            .map(|done| match done {
                Done::Changed(changed) => changed,
                other => panic!("{other:?}"),
            })
    }

    pub fn delete(&mut self, cp_seid: Seid) -> Result<Usage, SmfError> {
        self.run(|smf, now, out| smf.delete(now, cp_seid, out))
            .map(|done| match done {
                Done::Deleted(usage) => usage,
                other => panic!("{other:?}"),
            })
    }

    /// Asks something of the SMF and lets time pass until it is done.
    pub fn run(
        &mut self,
        ask: impl FnOnce(&mut Machine, Instant, &mut Sent) -> Ticket,
    ) -> Result<Done, SmfError> {
        let mut sent = Sent::default();
        let ticket = ask(&mut self.smf, self.now, &mut sent);
        self.deliver(smf_address(), sent);
        for _ in 0..100 {
            if let Some((done, outcome)) = self.smf.next_outcome() {
                assert_eq!(done, ticket);
                return outcome;
            }
            self.pass_time();
        }
        panic!("nothing came of it");
    }

    /// Goes to the next deadline of the SMF.
    pub fn pass_time(&mut self) {
        let next = self
            .smf
            .next_deadline()
            .expect("the SMF waits for something");
        self.now = self.now.max(next);
        let mut sent = Sent::default();
        self.smf.tick(self.now, &mut sent);
        self.deliver(smf_address(), sent);
    }

    /// Has the UPF do something.
    pub fn upf_does(&mut self, act: impl FnOnce(&mut FakeUpf, Instant, &mut Sent)) {
        let mut sent = Sent::default();
        act(&mut self.upf, self.now, &mut sent);
        self.deliver(upf_address(), sent);
    }

    /// Messages of a type that the SMF sent.
    pub fn sent_by_smf(&self, message_type: u8) -> Vec<&[u8]> {
        let ours = self.log.iter().filter(|frame| frame.from == smf_address());
        ours.map(|frame| frame.bytes.as_slice())
            .filter(|b| b[1] == message_type)
            .collect()
    }

    fn deliver(&mut self, from: SocketAddr, sent: Sent) {
        for (to, bytes) in sent.0 {
            self.log.push(Frame {
                from,
                to,
                bytes: bytes.clone(),
            });
            if self.lose > 0 {
                self.lose -= 1;
                continue;
            }
            let mut answers = Sent::default();
            if to == upf_address() {
                self.upf.handle(self.now, from, &bytes, &mut answers);
            } else {
                assert_eq!(to, smf_address());
                self.smf.handle(self.now, from, &bytes, &mut answers);
            }
            self.deliver(to, answers);
        }
    }
}
