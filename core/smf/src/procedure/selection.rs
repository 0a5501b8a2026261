//! Type, UPF and addresses of a new session (TS 23.502, 4.3.2.2.1, steps 4 and 8; TS 24.501, 6.4.1.3).

use sluice_n1::{SessionCause, SessionType};
use sluice_n4::AssociationId;
use sluice_sbi::{CreateSmContext, SessionManagement};

use crate::context::state::State;
use crate::leases::lease::{OwnAddresses, families};
use crate::upf::upfs::NoUpf;

/// A UPF, and the session that it can take.
pub(crate) struct Selected {
    pub kind: SessionType,
    /// Why the session is of less than was asked for.
    pub cut: Option<SessionCause>,
    /// Addresses that the subscriber has of its own.
    pub own: OwnAddresses,
    pub upf: (AssociationId, usize),
}

impl State {
    /// A UPF with addresses of the type that was chosen. Where none has both families a session of one is looked for.
    ///
    /// # Errors
    /// Why none takes the session of that type.
    pub(crate) fn select(
        &self,
        request: &CreateSmContext,
        subscription: &SessionManagement,
        (kind, cut): (SessionType, Option<SessionCause>),
    ) -> Result<Selected, NoUpf> {
        let refused = match self.select_for(request, subscription, (kind, cut)) {
            Err(none) if kind == SessionType::Ipv4v6 => none,
            selected => return selected,
        };
        let less = [
            (SessionType::Ipv4, Some(SessionCause::IPV4_ONLY)),
            (SessionType::Ipv6, Some(SessionCause::IPV6_ONLY)),
        ];
        let mut less = less.into_iter();
        let selected = less.find_map(|of| self.select_for(request, subscription, of).ok());
        selected.ok_or(refused)
    }

    fn select_for(
        &self,
        request: &CreateSmContext,
        subscription: &SessionManagement,
        (kind, cut): (SessionType, Option<SessionCause>),
    ) -> Result<Selected, NoUpf> {
        let CreateSmContext {
            slice, dnn, area, ..
        } = *request;
        let own = own_addresses(subscription, kind);
        let [with_ipv4, with_ipv6] = families(kind);
        let needs = [
            with_ipv4 && own.ipv4.is_none(),
            with_ipv6 && own.ipv6_prefix.is_none(),
        ];
        let upf = self.choose_upf(&dnn, &slice, &area, needs)?;
        Ok(Selected {
            kind,
            cut,
            own,
            upf,
        })
    }
}

/// The type of the session, and why it is less than was asked for (TS 24.501, 6.4.1.3): of what is
/// subscribed and what the data network has.
pub(crate) fn choose_type(
    wanted: Option<SessionType>,
    subscription: &SessionManagement,
    [ipv4, ipv6]: [bool; 2],
) -> Result<(SessionType, Option<SessionCause>), SessionCause> {
    let [v4_subscribed, v6_subscribed, both_subscribed] = subscription.types;
    let v4 = ipv4 && (v4_subscribed || both_subscribed);
    let v6 = ipv6 && (v6_subscribed || both_subscribed);
    let asked = wanted.unwrap_or(SessionType::from_number(subscription.default_type));
    match asked {
        SessionType::Ipv4v6 if v4 && v6 && both_subscribed => Ok((SessionType::Ipv4v6, None)),
        SessionType::Ipv4v6 if v4 => Ok((SessionType::Ipv4, Some(SessionCause::IPV4_ONLY))),
        SessionType::Ipv4v6 if v6 => Ok((SessionType::Ipv6, Some(SessionCause::IPV6_ONLY))),
        SessionType::Ipv4 if v4 => Ok((SessionType::Ipv4, None)),
        SessionType::Ipv6 if v6 => Ok((SessionType::Ipv6, None)),
        SessionType::Ipv4 if v6 => Err(SessionCause::IPV6_ONLY),
        SessionType::Ipv6 if v4 => Err(SessionCause::IPV4_ONLY),
        _ => Err(SessionCause::UNKNOWN_SESSION_TYPE),
    }
}

fn own_addresses(subscription: &SessionManagement, kind: SessionType) -> OwnAddresses {
    let ipv4 = Some(subscription.ipv4).filter(|ipv4| *ipv4 != [0; 4]);
    let prefix = Some(subscription.ipv6_prefix).filter(|prefix| *prefix != [0; 8]);
    OwnAddresses {
        ipv4: ipv4.filter(|_| kind != SessionType::Ipv6).map(Into::into),
        ipv6_prefix: prefix.filter(|_| kind != SessionType::Ipv4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(types: [bool; 3]) -> SessionManagement {
        SessionManagement {
            types,
            default_type: 3,
            ambr_down_bps: 1.into(),
            ambr_up_bps: 1.into(),
            five_qi: 9,
            priority: 8,
            ipv4: [0; 4],
            ipv6_prefix: [0; 8],
            up_security: None.into(),
        }
    }

    #[test]
    fn a_type_is_what_is_asked_for_subscribed_and_there() {
        use SessionType::{Ethernet, Ipv4, Ipv4v6, Ipv6};
        let choose = |wanted, types, families| {
            choose_type(wanted, &subscription(types), families).map_err(|cause| cause.0)
        };
        let (all, both) = ([true; 3], [true, true]);
        assert_eq!(choose(Some(Ipv4v6), all, both), Ok((Ipv4v6, None)));
        assert_eq!(choose(None, all, both), Ok((Ipv4v6, None)));
        let cut = |cause| Some(SessionCause(cause));
        assert_eq!(
            choose(Some(Ipv4v6), all, [true, false]),
            Ok((Ipv4, cut(50)))
        );
        assert_eq!(
            choose(Some(Ipv4v6), all, [false, true]),
            Ok((Ipv6, cut(51)))
        );
        assert_eq!(
            choose(Some(Ipv4v6), [true, true, false], both),
            Ok((Ipv4, cut(50)))
        );
        assert_eq!(
            choose(Some(Ipv4v6), [false, true, false], both),
            Ok((Ipv6, cut(51)))
        );
        assert_eq!(choose(Some(Ipv4), all, [false, true]), Err(51));
        assert_eq!(choose(Some(Ipv6), [true, false, false], both), Err(50));
        assert_eq!(choose(Some(Ethernet), all, both), Err(28));
        assert_eq!(choose(Some(Ipv4), [false; 3], both), Err(28));
    }
}
