//! Features that UPFs announce, and announce anew: the SMF gives what they do not.

use sluice_n4::Change;

use super::*;
use crate::leases::lease::Lease;
use crate::leases::pools::{Pool, Wanted};
use crate::upf::upfs::NoUpf;

/// A UPF that chooses tunnels and addresses, until it says otherwise.
fn net() -> Net {
    let net = Net::new(&[8], vec![Peer::new(8, 0xe000_0000)]);
    {
        let state = &mut *net.smf.state.borrow_mut();
        state.config.networks[0].pools = vec![Pool::Ipv4([10, 45, 0, 0].into(), 29)];
        state.renew_pools();
    }
    net
}

impl Net {
    /// The UPF announces features by Association Update, or more of them.
    fn update(&mut self, change: Change<'_>) {
        let (mut sent, now) = (Sent::default(), sluice_n4::Instant(self.now.instant.0));
        let peer = &mut self.peers[0];
        let (association, _) = peer.endpoint.associations().next().expect("associated");
        let updated = peer.endpoint.update(now, association, change, &mut sent);
        updated.expect("sent");
        let from = peer.at;
        self.carry_from(from, sent);
    }

    fn choose(&self, needs: [bool; 2]) -> Result<usize, NoUpf> {
        let dnn = Dnn::new("internet").expect("a name");
        let area = Tai {
            plmn: Plmn::new("001", "01").expect("digits"),
            tac: Tac([0, 0, 1]),
        };
        let state = self.smf.state.borrow();
        let chosen = state.choose_upf(&dnn, &Snssai::new(1, None), &area, needs);
        chosen.map(|(_, index)| index)
    }
}

fn without_ftup_and_ueip() -> Change<'static> {
    Change::Features(Features::of_up(UpFunctionFeatures::EMPU))
}

#[test]
fn a_upf_that_chooses_no_more_needs_an_address_in_the_configuration_and_a_pool_of_the_family() {
    let mut net = net();
    assert!(net.choose([true; 2]).is_ok());
    net.update(without_ftup_and_ueip());
    let told = |none: Result<usize, NoUpf>| none.err().map(|none| (none.why.why, none.is_full));
    let (why, _) = told(net.choose([true, false])).expect("no tunnels");
    assert!(why.contains("no FTUP"), "{why}");
    net.smf.state.borrow_mut().config.upfs[0].n3_addresses.0 = Some([192, 0, 2, 1].into());
    assert!(net.choose([true, false]).is_ok());
    // Another UPF has the only pool.
    net.smf.state.borrow_mut().config.upfs[0].pools = vec![Pool::Ipv4([10, 46, 0, 0].into(), 24)];
    let (why, _) = told(net.choose([true, false])).expect("no pool");
    assert!(why.contains("internet has no pool of IPv4"), "{why}");
    assert!(net.smf.upfs()[0].lacks.is_some());
    net.smf.state.borrow_mut().config.upfs[0].pools.clear();
    let (why, is_full) = told(net.choose([true, true])).expect("no IPv6");
    assert!(
        why.contains("internet has no pool of IPv6") && !is_full,
        "{why}"
    );
    assert!(
        net.choose([false, false]).is_ok(),
        "the subscriber has its own"
    );
}

#[test]
fn a_upf_may_say_itself_where_its_tunnels_are_and_which_teids_it_has() {
    let mut net = net();
    net.update(without_ftup_and_ueip());
    // User Plane IP Resource Information (116): V4, TEIDRI of 4 bits, 9.
    net.update(Change::Ies(&[0, 116, 0, 6, 0x11, 9, 192, 0, 2, 1]));
    assert!(net.choose([true, false]).is_ok());
    let id = net.insert_session(0);
    let at = (net.association(0), 0);
    let state = &mut *net.smf.state.borrow_mut();
    let own = state.lease(id, at, sluice_n1::SessionType::Ipv4, Default::default());
    assert_eq!(own.map(|own| own.ipv4), Ok(Some([10, 45, 0, 2].into())));
    let tunnel = state
        .sessions
        .get(id.0)
        .and_then(|session| session.lease.tunnel);
    let tunnel = tunnel.expect("leased");
    assert_eq!(
        (tunnel.ipv4, tunnel.teid >> 28),
        (Some([192, 0, 2, 1].into()), 9)
    );
}

#[test]
fn what_a_upf_has_chosen_is_given_to_no_other_session_when_it_chooses_no_more() {
    let mut net = net();
    let id = net.insert_session(0);
    let uplink = Tunnel {
        ipv4: Some([192, 0, 2, 1].into()),
        ipv6: None,
        teid: 7,
    };
    {
        let state = &mut *net.smf.state.borrow_mut();
        let session = state.sessions.get_mut(id.0).expect("there");
        session.address.ipv4 = Some([10, 45, 0, 2].into());
        session.upf = session.upf.map(|upf| AtUpf { uplink, ..upf });
    }
    assert_eq!(net.smf.leases(), (0, 0));
    net.update(without_ftup_and_ueip());
    assert_eq!(net.smf.leases(), (1, 1));
    let state = &mut *net.smf.state.borrow_mut();
    let lease = state.sessions.get(id.0).map(|session| session.lease);
    let expected = Lease {
        upf: lease.and_then(|lease| lease.upf),
        ipv4: Some([10, 45, 0, 2].into()),
        tunnel: Some(uplink),
        ..Lease::default()
    };
    assert_eq!(lease, Some(expected));
    let dnn = Dnn::new("internet").expect("a name");
    let wanted = Wanted {
        dnn: &dnn,
        family: crate::Family::Ipv4,
        at: &[],
    };
    let next = state.leases.pools.give(wanted, Instant(0));
    let next = next.map(|next| format!("{next:?}"));
    assert_eq!(next.as_deref(), Some("Ipv4(10.45.0.3)"));
    // The session is over.
    state.remove(id);
    assert_eq!(state.leases.held(), (1, 0));
}
