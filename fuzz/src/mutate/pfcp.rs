//! Changes of a PFCP message's tree of IEs.

use super::bytes;
use super::tlv::{Content, GROUPS, Node, Tree};
use crate::random::Rng;

/// Times that an IE is repeated at most: beyond every limit of a list (`wire::limits`).
const REPEATS: usize = 70;
/// Types up to here have a meaning in Release 17.
const TYPES: usize = 320;

/// One change.
pub(super) fn mutate(input: &mut Vec<u8>, donor: &[u8], rng: &mut Rng) {
    if rng.one_in(8) {
        return bytes::mutate(input, donor, rng);
    }
    let Some(mut tree) = Tree::read(input) else {
        *input = donor.to_vec();
        return;
    };
    match rng.below(10) {
        0 => header(&mut tree, rng),
        1 => ends(&mut tree, donor, rng),
        2 | 3 => take_over(&mut tree, donor, rng),
        _ => change(some_list(&mut tree.nodes, rng), rng),
    }
    *input = tree.write();
}

/// Flags, type, SEID, sequence number, the message's length.
fn header(tree: &mut Tree, rng: &mut Rng) {
    let at = rng.below(tree.head.len());
    match rng.below(6) {
        0 => bytes::put(&mut tree.head, 0, 1, 0x20 | rng.draw() & 0x07),
        1 => bytes::put(
            &mut tree.head,
            1,
            1,
            [1, 3, 5, 7, 9, 12, 14, 50, 52, 54, 56][rng.below(11)],
        ),
        2 => bytes::put(&mut tree.head, 1, 1, rng.draw()),
        3 => bytes::put(&mut tree.head, 4, 8, rng.edge()),
        4 => bytes::put(&mut tree.head, at, 3, rng.edge()),
        _ => tree.lie = Some(wrong_length(tree.write().len().saturating_sub(4), rng)),
    }
}

/// Something behind the message, such as another one (7.2.1A), or its end missing.
fn ends(tree: &mut Tree, donor: &[u8], rng: &mut Rng) {
    match rng.below(4) {
        0 => tree.tail = rng.octets(5),
        1 => tree.tail.clear(),
        2 => {
            bytes::put(&mut tree.head, 0, 1, 0x24 | rng.draw() & 1);
            tree.lie = Some(tree.write().len().saturating_sub(4) as u16);
            tree.tail.extend(donor);
        }
        _ => drop(tree.nodes.pop()),
    }
}

/// IEs of another message, at any place or in the place of one of the same type.
fn take_over(tree: &mut Tree, donor: &[u8], rng: &mut Rng) {
    let Some(mut other) = Tree::read(donor) else {
        return;
    };
    let from = some_list(&mut other.nodes, rng);
    let Some(taken) = rng.pick(from).cloned() else {
        return;
    };
    let list = some_list(&mut tree.nodes, rng);
    match list.iter_mut().find(|node| node.ie_type == taken.ie_type) {
        Some(place) if rng.one_in(2) => *place = taken,
        _ => {
            let at = rng.below(list.len() + 1);
            list.insert(at, taken);
        }
    }
}

/// A list of IEs: of the message or of a group in it.
fn some_list<'a>(nodes: &'a mut Vec<Node>, rng: &mut Rng) -> &'a mut Vec<Node> {
    let is_group = |node: &Node| matches!(node.content, Content::Group(_));
    let groups: Vec<usize> = (0..nodes.len()).filter(|i| is_group(&nodes[*i])).collect();
    match rng.pick(&groups) {
        Some(at) if !rng.one_in(3) => match &mut nodes[*at].content {
            Content::Group(inner) => some_list(inner, rng),
            Content::Value(_) => unreachable!("only groups were picked"),
        },
        _ => nodes,
    }
}

/// One change of a list or of one IE in it.
fn change(list: &mut Vec<Node>, rng: &mut Rng) {
    let at = rng.below(list.len());
    if list.is_empty() {
        return list.push(any_ie(rng));
    }
    match rng.below(10) {
        0 => drop(list.remove(at)),
        1 => {
            let times = if rng.one_in(4) { rng.below(REPEATS) } else { 1 };
            let copies = vec![list[at].clone(); times];
            list.splice(at..at, copies);
        }
        2 => {
            let to = rng.below(list.len());
            list.swap(at, to);
        }
        3 => list.insert(at, any_ie(rng)),
        4 => list[at].ie_type = some_type(rng),
        5 => {
            let right = value_len(&list[at]);
            list[at].lie = Some(wrong_length(right, rng));
        }
        6 => nest(&mut list[at], rng),
        _ => content(&mut list[at], rng),
    }
}

/// Into a group of its own or another type, or out of it.
fn nest(node: &mut Node, rng: &mut Rng) {
    let ie_type = match rng.one_in(2) {
        true => node.ie_type,
        false => *rng.pick(GROUPS).unwrap_or(&1),
    };
    for _ in 0..=rng.below(4) {
        let inner = node.clone();
        *node = Node {
            ie_type,
            content: Content::Group(vec![inner]),
            lie: None,
        };
    }
}

/// The octets of one IE.
fn content(node: &mut Node, rng: &mut Rng) {
    let octets = match &mut node.content {
        Content::Group(inner) => return change(inner, rng),
        Content::Value(octets) => octets,
    };
    match rng.below(7) {
        0 => octets.clear(),
        1 => drop(octets.pop()),
        2 => octets.push(rng.octet()),
        3 => {
            let len = rng.below(40);
            octets.extend(rng.octets(len));
        }
        4 => bytes::put(octets, rng.below(3), [1, 2, 4, 8][rng.below(4)], rng.edge()),
        // The first octet holds flags in most IEs.
        5 => bytes::put(octets, 0, 1, rng.draw()),
        _ => bytes::mutate(octets, &[], rng),
    }
}

fn any_ie(rng: &mut Rng) -> Node {
    let len = rng.below(20);
    Node::value(some_type(rng), rng.octets(len))
}

fn some_type(rng: &mut Rng) -> u16 {
    match rng.below(8) {
        0 => rng.draw() as u16,
        1 => 0x8000 | rng.below(16) as u16,
        2 => *rng.pick(GROUPS).unwrap_or(&1),
        _ => rng.below(TYPES) as u16,
    }
}

fn wrong_length(right: usize, rng: &mut Rng) -> u16 {
    match rng.below(7) {
        0 => 0,
        1 => 1,
        2 => (right as u16).wrapping_sub(1),
        3 => (right as u16).wrapping_add(1),
        4 => 0xffff,
        5 => 0x7fff,
        _ => rng.draw() as u16,
    }
}

fn value_len(node: &Node) -> usize {
    match &node.content {
        Content::Value(octets) => octets.len(),
        Content::Group(inner) => inner.iter().map(|node| 4 + value_len(node)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus;
    use sluice_wire::pfcp::{Header, Ies};

    #[test]
    fn most_mutants_are_still_messages_and_all_differ_in_the_end() {
        let kept = corpus::kept("pfcp_parse");
        let (mut messages, mut trees, mut same) = (0, 0, 0);
        for case in 0..2000 {
            let mut rng = Rng::new(5, case);
            let entry = rng.pick(&kept).expect("an entry").bytes.clone();
            let donor = rng.pick(&kept).expect("an entry").bytes.clone();
            let mut input = entry.clone();
            mutate(&mut input, &donor, &mut rng);
            same += usize::from(input == entry);
            if let Ok((_, body)) = Header::parse(&input) {
                messages += 1;
                trees += usize::from(Ies::new(body).all(|ie| ie.is_ok()));
            }
        }
        assert!(messages > 1500, "{messages} of 2000 have a sound header");
        assert!(trees > 1200, "{trees} of 2000 have sound IEs");
        assert!(same < 200, "{same} of 2000 were not changed");
    }
}
