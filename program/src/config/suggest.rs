//! Suggestions for misspelt keys.

/// The candidate that `word` is most likely a slip of: at most one edit in three letters.
pub fn closest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let near = |candidate: &&&str| distance(word, candidate) * 3 <= candidate.len().max(3);
    candidates
        .iter()
        .filter(near)
        .min_by_key(|candidate| distance(word, candidate))
        .copied()
}

/// Insertions, deletions, replacements and swaps of neighbours that make `a` into `b` (optimal
/// string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut two_before = vec![0; b.len() + 1];
    let mut before: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = before[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(before[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(two_before[j - 2] + 1);
            }
        }
        two_before = before;
        before = row;
    }
    before[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let keys = ["mtu", "rx_queues", "tx_queues", "device", "name"];
        assert_eq!(closest("rx_queue", &keys), Some("rx_queues"));
        assert_eq!(closest("divece", &keys), Some("device"));
        assert_eq!(closest("mut", &keys), Some("mtu"));
        assert_eq!(closest("speed", &keys), None);
        assert_eq!(closest("", &keys), None);
    }
}
