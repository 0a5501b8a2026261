//! Inputs without one of their parts, for making a failing input smaller.

use super::fields::{Layer, repair_lengths, repair_sums};
use super::script::{owned, written};
use super::tlv::{Content, Node, Tree};

/// Nothing is known of the input.
pub fn none(_: &[u8]) -> Vec<Vec<u8>> {
    Vec::new()
}

/// A text without each of its lines.
pub fn lines(input: &[u8]) -> Vec<Vec<u8>> {
    let lines: Vec<&[u8]> = input.split_inclusive(|octet| *octet == b'\n').collect();
    let without = |at: usize| [&lines[..at], &lines[at + 1..]].concat().concat();
    (0..lines.len()).map(without).collect()
}

/// A PFCP message without each of its IEs.
pub fn pfcp(input: &[u8]) -> Vec<Vec<u8>> {
    let Some(tree) = Tree::read(input) else {
        return Vec::new();
    };
    let without = |nodes| {
        let tree = Tree {
            nodes,
            ..tree.clone()
        };
        tree.write()
    };
    without_one(&tree.nodes).into_iter().map(without).collect()
}

/// A script without each of its steps, and with smaller messages in its steps.
pub fn pfcp_script(input: &[u8]) -> Vec<Vec<u8>> {
    script(input, pfcp)
}

/// A script without each of its steps, and with shorter frames in its steps.
pub fn frame_script(input: &[u8]) -> Vec<Vec<u8>> {
    script(input, frame)
}

/// As [`frame_script`], behind one octet that stays.
pub fn shaped_frame_script(input: &[u8]) -> Vec<Vec<u8>> {
    let (shape, script) = input.split_first().unwrap_or((&0, &[]));
    let shaped = |script: Vec<u8>| [&[*shape][..], &script].concat();
    frame_script(script).into_iter().map(shaped).collect()
}

/// A shorter frame, lengths and checksums as they should be.
pub fn frame(input: &[u8]) -> Vec<Vec<u8>> {
    shorter(input, Layer::Ethernet)
}

/// A shorter GTP-U message, lengths and checksums as they should be.
pub fn gtpu(input: &[u8]) -> Vec<Vec<u8>> {
    shorter(input, Layer::Gtpu)
}

fn script(input: &[u8], inner: super::Parts) -> Vec<Vec<u8>> {
    let steps = owned(input);
    let mut all = Vec::new();
    for at in 0..steps.len() {
        let mut fewer = steps.clone();
        fewer.remove(at);
        all.push(written(&fewer));
    }
    for at in 0..steps.len() {
        for bytes in inner(&steps[at].bytes) {
            let mut other = steps.clone();
            other[at].bytes = bytes;
            all.push(written(&other));
        }
    }
    all
}

/// Cut to a half, by eight octets, by one.
fn shorter(input: &[u8], first: Layer) -> Vec<Vec<u8>> {
    let len = input.len();
    let cuts = [len / 2, len.saturating_sub(8), len.saturating_sub(1)];
    let fewer = cuts.into_iter().filter(|cut| *cut < len);
    fewer
        .map(|cut| {
            let mut frame = input[..cut].to_vec();
            repair_lengths(&mut frame, first);
            repair_sums(&mut frame, first);
            frame
        })
        .collect()
}

/// The list without each of its nodes, and without each node in one of its groups.
fn without_one(nodes: &[Node]) -> Vec<Vec<Node>> {
    let mut all = Vec::new();
    for at in 0..nodes.len() {
        let mut fewer = nodes.to_vec();
        fewer.remove(at);
        all.push(fewer);
    }
    for (at, node) in nodes.iter().enumerate() {
        let Content::Group(inner) = &node.content else {
            continue;
        };
        for inner in without_one(inner) {
            let mut other = nodes.to_vec();
            other[at].content = Content::Group(inner);
            all.push(other);
        }
    }
    all
}
