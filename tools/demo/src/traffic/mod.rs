//! Traffic programs and their results.

pub(super) mod acts;
pub(super) mod http;
pub(super) mod iperf;
pub(super) mod ping;

use super::error::DemoError;

/// Runs `work` for every item at the same time; gives the results in the order of the items, or
/// the first error when all have ended.
pub(super) fn at_once<I: Sync, T: Send>(
    items: &[I],
    work: impl Fn(usize, &I) -> Result<T, DemoError> + Sync,
) -> Result<Vec<T>, DemoError> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(index, item)| scope.spawn(move || work(index, item)))
            .collect();
        let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// As [`at_once`], for so many items at a time.
pub(super) fn in_groups<I: Sync, T: Send>(
    items: &[I],
    size: usize,
    work: impl Fn(&I) -> Result<T, DemoError> + Sync,
) -> Result<Vec<T>, DemoError> {
    let mut all = Vec::with_capacity(items.len());
    for group in items.chunks(size.max(1)) {
        all.extend(at_once(group, |_, item| work(item))?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let doubled = at_once(&[1, 2, 3], |index, item| Ok(index + item));
        assert_eq!(doubled.expect("no error"), [1, 3, 5]);
        let grouped = in_groups(&[1, 2, 3], 2, |item| Ok(item * 2));
        assert_eq!(grouped.expect("no error"), [2, 4, 6]);
        let failed = at_once(&[1], |_, _| Err::<(), _>(DemoError::Interrupted));
        assert!(failed.is_err());
    }
}
