//! A PFCP message as a tree of IEs that can be changed and written again, right or wrong.

/// IEs that are groups (TS 29.244, table 8.1.2-1, "Grouped IE").
pub(super) const GROUPS: &[u16] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 51, 54, 58, 59, 68, 77, 78, 79,
    80, 83, 85, 86, 87, 99, 102, 105, 118, 127, 128, 129, 130, 132, 142, 143, 147, 165, 166, 167,
    168, 169, 175, 176, 183, 187, 188, 189, 190, 195, 199, 200, 201, 203, 205, 211, 212, 213, 214,
    216, 218, 220, 221, 225, 226, 227, 233, 238, 239, 240, 242, 247, 252, 254, 255, 256, 261, 263,
    264, 267, 270, 272, 315,
];

/// One IE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub ie_type: u16,
    pub content: Content,
    /// A length that is stated instead of the right one.
    pub lie: Option<u16>,
}

/// What is in an IE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Value(Vec<u8>),
    Group(Vec<Node>),
}

/// A message: octets 1 to 16 (or 8) as they are, the tree, and what could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    pub head: Vec<u8>,
    pub nodes: Vec<Node>,
    pub tail: Vec<u8>,
    pub lie: Option<u16>,
}

impl Tree {
    /// Reads as much as can be read; `None` without a header.
    pub fn read(octets: &[u8]) -> Option<Self> {
        let flags = *octets.first()?;
        let head_len = if flags & 1 == 0 { 8 } else { 16 };
        let (head, body) = octets.split_at_checked(head_len)?;
        let (nodes, tail) = read_nodes(body, 0);
        Some(Self {
            head: head.to_vec(),
            nodes,
            tail: tail.to_vec(),
            lie: None,
        })
    }

    /// Writes it with the right length but where a lie is told.
    pub fn write(&self) -> Vec<u8> {
        let mut out = self.head.clone();
        write_nodes(&self.nodes, &mut out);
        out.extend(&self.tail);
        let right = out.len().saturating_sub(4) as u16;
        let stated = self.lie.unwrap_or(right).to_be_bytes();
        if let Some(place) = out.get_mut(2..4) {
            place.copy_from_slice(&stated);
        }
        out
    }
}

impl Node {
    /// An IE with these octets.
    pub fn value(ie_type: u16, octets: Vec<u8>) -> Self {
        Self {
            ie_type,
            content: Content::Value(octets),
            lie: None,
        }
    }
}

/// The IEs of a body, and what is behind them.
fn read_nodes(mut body: &[u8], depth: usize) -> (Vec<Node>, &[u8]) {
    let mut nodes = Vec::new();
    while let Some((&[t0, t1, l0, l1], rest)) = body.split_first_chunk::<4>() {
        let len = usize::from(u16::from_be_bytes([l0, l1]));
        let Some((value, rest)) = rest.split_at_checked(len) else {
            break;
        };
        let ie_type = u16::from_be_bytes([t0, t1]);
        nodes.push(Node {
            ie_type,
            content: read_content(ie_type, value, depth),
            lie: None,
        });
        body = rest;
    }
    (nodes, body)
}

fn read_content(ie_type: u16, value: &[u8], depth: usize) -> Content {
    if depth < 8 && GROUPS.contains(&ie_type) {
        let (nodes, rest) = read_nodes(value, depth + 1);
        if rest.is_empty() && !nodes.is_empty() {
            return Content::Group(nodes);
        }
    }
    Content::Value(value.to_vec())
}

fn write_nodes(nodes: &[Node], out: &mut Vec<u8>) {
    for node in nodes {
        out.extend(node.ie_type.to_be_bytes());
        let at = out.len();
        out.extend([0, 0]);
        match &node.content {
            Content::Value(octets) => out.extend(octets),
            Content::Group(inner) => write_nodes(inner, out),
        }
        let right = (out.len() - at - 2) as u16;
        let stated = node.lie.unwrap_or(right).to_be_bytes();
        out[at..at + 2].copy_from_slice(&stated);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus;

    #[test]
    fn every_kept_message_is_read_and_written_unchanged() {
        for entry in corpus::kept("pfcp_parse") {
            if let Some(tree) = Tree::read(&entry.bytes).filter(|tree| tree.tail.is_empty()) {
                let mut expected = entry.bytes.clone();
                expected[2..4].copy_from_slice(&((entry.bytes.len() - 4) as u16).to_be_bytes());
                assert_eq!(tree.write(), expected, "{}", entry.name);
            }
        }
    }

    #[test]
    fn groups_are_opened_and_lies_are_told() {
        let octets = [0x20, 1, 0, 14, 0, 0, 1, 0, 0, 1, 0, 6, 0, 56, 0, 2, 0, 7];
        let mut tree = Tree::read(&octets).expect("a header");
        let inner = Node::value(56, vec![0, 7]);
        assert_eq!(tree.nodes[0].content, Content::Group(vec![inner]));
        tree.nodes[0].lie = Some(0xffff);
        assert_eq!(tree.write()[10..12], [0xff, 0xff]);
    }
}
