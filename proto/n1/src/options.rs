//! Extended protocol configuration options (TS 24.008, 10.5.6.3): what a UE asks for and is told
//! besides its address.

use core::net::{Ipv4Addr, Ipv6Addr};

const HEAD: u8 = 0x80;
const P_CSCF_IPV6: u16 = 0x0001;
const DNS_IPV6: u16 = 0x0003;
const P_CSCF_IPV4: u16 = 0x000c;
const DNS_IPV4: u16 = 0x000d;
const MTU: u16 = 0x0010;
const IPCP: u16 = 0x8021;
const PAP: u16 = 0xc023;
const CHAP: u16 = 0xc223;

/// Protocol configuration options of a data network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Name servers.
    pub servers_ipv4: Vec<Ipv4Addr>,
    /// Name servers.
    pub servers_ipv6: Vec<Ipv6Addr>,
    /// P-CSCF addresses (TS 23.228, 5.1.1.1).
    pub p_cscfs_ipv4: Vec<Ipv4Addr>,
    /// P-CSCF addresses.
    pub p_cscfs_ipv6: Vec<Ipv6Addr>,
    /// Longest packet of a UE.
    pub mtu_octets: Option<u16>,
}

/// Most containers that are read: what phones send is a dozen.
const CONTAINERS: usize = 64;

/// Containers, each with its identifier; what is cut short ends the list.
fn containers(octets: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    let mut rest = octets.get(1..).unwrap_or_default();
    while let [a, b, length, after @ ..] = rest {
        let Some((content, after)) = after.split_at_checked(usize::from(*length)) else {
            break;
        };
        if found.len() == CONTAINERS {
            break;
        }
        found.push((u16::from_be_bytes([*a, *b]), content));
        rest = after;
    }
    found
}

fn put(octets: &mut Vec<u8>, id: u16, content: &[u8]) {
    // Ours have a few octets each.
    let length = u8::try_from(content.len()).unwrap_or(u8::MAX);
    octets.extend_from_slice(&id.to_be_bytes());
    octets.push(length);
    octets.extend_from_slice(&content[..usize::from(length)]);
}

/// Options that answer a request; none if there are none.
pub fn answer(asked: &[u8], settings: &Settings) -> Option<Vec<u8>> {
    let mut octets = vec![HEAD];
    let mut told = Vec::new();
    for (id, content) in containers(asked) {
        // A container that comes twice is answered once.
        if told.contains(&(id, content)) {
            continue;
        }
        told.push((id, content));
        match id {
            DNS_IPV4 | P_CSCF_IPV4 => {
                let all = match id {
                    DNS_IPV4 => &settings.servers_ipv4,
                    _ => &settings.p_cscfs_ipv4,
                };
                all.iter()
                    .for_each(|one| put(&mut octets, id, &one.octets()));
            }
            DNS_IPV6 | P_CSCF_IPV6 => {
                let all = match id {
                    DNS_IPV6 => &settings.servers_ipv6,
                    _ => &settings.p_cscfs_ipv6,
                };
                all.iter()
                    .for_each(|one| put(&mut octets, id, &one.octets()));
            }
            MTU => settings
                .mtu_octets
                .iter()
                .for_each(|mtu| put(&mut octets, id, &mtu.to_be_bytes())),
            IPCP => {
                if let Some(answer) = answer_ipcp(content, &settings.servers_ipv4) {
                    put(&mut octets, id, &answer);
                }
            }
            // No name and no password is looked at: any is right.
            PAP => {
                if let [1, identifier, ..] = *content {
                    put(&mut octets, id, &[2, identifier, 0, 5, 0]);
                }
            }
            CHAP => {
                if let Some(identifier) = chap_response(content) {
                    put(&mut octets, id, &[3, identifier, 0, 4]);
                }
            }
            _ => {}
        }
    }
    (octets.len() > 1).then_some(octets)
}

fn chap_response(content: &[u8]) -> Option<u8> {
    match *content {
        [2, identifier, ..] => Some(identifier),
        _ => None,
    }
}

/// Configure-Request of IPCP (RFC 1877): name servers that it asks for are told by Configure-Nak.
fn answer_ipcp(content: &[u8], servers: &[Ipv4Addr]) -> Option<Vec<u8>> {
    let [1, identifier, _, _, options @ ..] = content else {
        return None;
    };
    let asks = |kind: u8| {
        options
            .chunks(6)
            .any(|option| option.first() == Some(&kind))
    };
    let mut told = Vec::new();
    for (kind, server) in [129, 131].into_iter().zip(servers) {
        if asks(kind) {
            told.extend_from_slice(&[kind, 6]);
            told.extend_from_slice(&server.octets());
        }
    }
    let (code, told) = if told.is_empty() {
        (2, options)
    } else {
        (3, &told[..])
    };
    let [high, low] = u16::try_from(told.len() + 4).ok()?.to_be_bytes();
    Some([&[code, *identifier, high, low], told].concat())
}

/// Options that a UE received; unreadable ones are left out.
pub fn read(octets: &[u8]) -> Settings {
    let mut told = Settings::default();
    for (id, content) in containers(octets) {
        let ipv4 = || <[u8; 4]>::try_from(content).ok().map(Ipv4Addr::from);
        let ipv6 = || <[u8; 16]>::try_from(content).ok().map(Ipv6Addr::from);
        match id {
            DNS_IPV4 => told.servers_ipv4.extend(ipv4()),
            DNS_IPV6 => told.servers_ipv6.extend(ipv6()),
            P_CSCF_IPV4 => told.p_cscfs_ipv4.extend(ipv4()),
            P_CSCF_IPV6 => told.p_cscfs_ipv6.extend(ipv6()),
            MTU => {
                let mtu = <[u8; 2]>::try_from(content).ok().map(u16::from_be_bytes);
                told.mtu_octets = mtu.or(told.mtu_octets);
            }
            _ => {}
        }
    }
    told
}

/// Request for name servers, P-CSCFs and the link MTU.
pub fn ask() -> Vec<u8> {
    let mut octets = vec![HEAD];
    for id in [P_CSCF_IPV6, DNS_IPV6, P_CSCF_IPV4, DNS_IPV4, MTU] {
        put(&mut octets, id, &[]);
    }
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVERS: [Ipv4Addr; 2] = [Ipv4Addr::new(8, 8, 8, 8), Ipv4Addr::new(1, 1, 1, 1)];

    fn settings() -> Settings {
        Settings {
            servers_ipv4: SERVERS.to_vec(),
            servers_ipv6: vec!["2001:db8::53".parse().expect("an address")],
            p_cscfs_ipv4: vec![Ipv4Addr::new(192, 0, 2, 60)],
            p_cscfs_ipv6: vec!["2001:db8::60".parse().expect("an address")],
            mtu_octets: Some(1400),
        }
    }

    #[test]
    fn what_is_asked_is_told_and_nothing_else() {
        let told = answer(&ask(), &settings()).expect("an answer");
        assert_eq!(read(&told), settings());
        let mtu = [HEAD, 0, 0x10, 0];
        let told = answer(&mtu, &settings()).expect("an answer");
        assert_eq!(told, [HEAD, 0, 0x10, 2, 5, 0x78]);
        assert_eq!(answer(&[HEAD, 0, 0x0a, 0], &settings()), None);
        assert_eq!(answer(&[], &settings()), None);
        assert_eq!(answer(&[HEAD, 0, 0x10, 9], &settings()), None);
    }

    /// TS 24.008, 10.5.6.3: 0001H and 000CH.
    #[test]
    fn a_p_cscf_is_told_where_there_is_one() {
        let asked = [HEAD, 0, 1, 0, 0, 0x0c, 0];
        let told = answer(&asked, &settings()).expect("an answer");
        let ipv6 = settings().p_cscfs_ipv6[0].octets();
        let expected = [&[HEAD, 0, 1, 16][..], &ipv6, &[0, 0x0c, 4, 192, 0, 2, 60]];
        assert_eq!(told, expected.concat());
        let without = Settings {
            servers_ipv4: SERVERS.to_vec(),
            ..Settings::default()
        };
        assert_eq!(answer(&asked, &without), None);
    }

    #[test]
    fn protocols_of_modems_are_answered() {
        let ipcp = [1, 7, 0, 16, 129, 6, 0, 0, 0, 0, 131, 6, 0, 0, 0, 0];
        let mut asked = vec![HEAD];
        put(&mut asked, IPCP, &ipcp);
        put(&mut asked, PAP, &[1, 3, 0, 6, 0, 0]);
        put(&mut asked, CHAP, &[1, 4, 0, 4]);
        put(&mut asked, CHAP, &[2, 4, 0, 4]);
        let told = answer(&asked, &settings()).expect("an answer");
        let told = containers(&told);
        let nak = [3, 7, 0, 16, 129, 6, 8, 8, 8, 8, 131, 6, 1, 1, 1, 1];
        assert_eq!(told[0], (IPCP, &nak[..]));
        assert_eq!(told[1], (PAP, &[2, 3, 0, 5, 0][..]));
        // A challenge of the UE's own comes before its response.
        assert_eq!(told[2..], [(CHAP, &[3, 4, 0, 4][..])]);
    }
}
