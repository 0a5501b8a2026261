//! A packet filter that keeps strangers away from the kernel's SCTP: classic BPF over source addresses.
//!
//! Linux runs it on each packet for the socket before it reads any of SCTP.

use std::net::IpAddr;

use crate::allow::AllowList;

/// An instruction (`struct sock_filter` of `linux/filter.h`).
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

/// Most instructions of a filter (`BPF_MAXINSNS`).
const MOST: usize = 4096;

/// Load a word from a place in the packet; places from here on are those of the IP header (`SKF_NET_OFF`).
const LOAD: u16 = 0x20;
const NETWORK: u32 = -0x10_0000_i32 as u32;
const AND: u16 = 0x54;
const IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// Offset of the IPv4 source address.
const SOURCE_4: u32 = 12;
const SOURCE_6: u32 = 8;

const fn always(code: u16, value: u32) -> Instruction {
    Instruction {
        code,
        if_true: 0,
        if_false: 0,
        value,
    }
}

/// Filter that lets packets of these prefixes pass, for the socket's address family; none if they are too many.
pub(crate) fn program(allowed: &AllowList, is_ipv4: bool) -> Option<Vec<Instruction>> {
    let mut program = Vec::new();
    for prefix in allowed.prefixes() {
        let (address, bits) = prefix.parts();
        let (words, mut at) = match address {
            IpAddr::V4(address) if is_ipv4 => (vec![u32::from(address)], SOURCE_4),
            IpAddr::V6(address) if !is_ipv4 => {
                let octets = address.octets();
                let words = octets.chunks_exact(4);
                let word = |octets: &[u8]| octets.iter().fold(0, |w, o| w << 8 | u32::from(*o));
                (words.map(word).collect(), SOURCE_6)
            }
            _ => continue,
        };
        // Three instructions for each word that counts, and one that accepts.
        let counting = usize::from(bits).div_ceil(32);
        let mut left = bits;
        for (done, word) in words.iter().take(counting).enumerate() {
            let of_word = left.min(32);
            left -= of_word;
            let mask = u32::MAX << (32 - of_word);
            program.push(always(LOAD, NETWORK.wrapping_add(at)));
            program.push(always(AND, mask));
            program.push(Instruction {
                code: IF_EQUAL,
                if_true: 0,
                // Behind the words that follow, and behind the acceptance.
                if_false: (3 * (counting - done - 1) + 1) as u8,
                value: word & mask,
            });
            at += 4;
        }
        program.push(always(RETURN, u32::MAX));
    }
    program.push(always(RETURN, 0));
    (program.len() <= MOST).then_some(program)
}

/// Filter that lets all packets pass.
pub(crate) fn everybody() -> Vec<Instruction> {
    vec![always(RETURN, u32::MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allow::Prefix;

    /// Runs a filter as the kernel does, on a packet's network header.
    fn passes(program: &[Instruction], packet: &[u8]) -> bool {
        let (mut accumulator, mut at) = (0u32, 0);
        loop {
            let one = program[at];
            at += 1;
            match one.code {
                LOAD => {
                    let place = one.value.wrapping_sub(NETWORK) as usize;
                    let word = packet[place..place + 4].iter();
                    accumulator = word.fold(0, |w, o| w << 8 | u32::from(*o));
                }
                AND => accumulator &= one.value,
                IF_EQUAL if accumulator == one.value => at += usize::from(one.if_true),
                IF_EQUAL => at += usize::from(one.if_false),
                RETURN => return one.value != 0,
                other => panic!("{other}"),
            }
        }
    }

    fn packet(source: IpAddr) -> Vec<u8> {
        match source {
            IpAddr::V4(source) => [&[0; 12][..], &source.octets(), &[0; 4]].concat(),
            IpAddr::V6(source) => [&[0; 8][..], &source.octets(), &[0; 16]].concat(),
        }
    }

    #[test]
    fn the_filter_lets_pass_whom_the_list_allows() {
        let prefixes = [
            "10.1.0.0/16",
            "10.2.3.4/32",
            "192.168.0.128/25",
            "2001:db8::/32",
            "2001:db9:0:0:8000::/65",
            "fd00::7/128",
        ];
        let prefixes = prefixes.map(|text| text.parse::<Prefix>().expect("a prefix"));
        let list = AllowList::new(prefixes.to_vec());
        let sources = [
            "10.1.255.1",
            "10.2.3.4",
            "10.2.3.5",
            "10.0.255.255",
            "192.168.0.200",
            "192.168.0.127",
            "2001:db8:1::1",
            "2001:db9::1",
            "2001:db9:0:0:8000::1",
            "fd00::7",
            "fd00::8",
            "0.0.0.0",
        ];
        for source in sources {
            let source: IpAddr = source.parse().expect("an address");
            let program = program(&list, source.is_ipv4()).expect("short");
            assert_eq!(
                passes(&program, &packet(source)),
                list.allows(source),
                "{source}"
            );
        }
    }

    #[test]
    fn all_none_and_too_many() {
        let one = IpAddr::from([10, 0, 0, 1]);
        let all = AllowList::new(vec![Prefix::new(one, 0).expect("fits")]);
        assert!(passes(&program(&all, true).expect("short"), &packet(one)));
        let none = program(&AllowList::default(), true).expect("short");
        assert!(!passes(&none, &packet(one)));
        let many = vec![Prefix::new(one, 32).expect("fits"); 1023];
        assert!(program(&AllowList::new(many.clone()), true).is_some());
        let more = [&many[..], &many[..1]].concat();
        assert!(program(&AllowList::new(more), true).is_none());
    }
}
