//! Counts of uses by number.

/// Uses by number.
#[derive(Debug)]
pub struct UseCounts(Box<[u32]>);

impl UseCounts {
    /// None yet of so many numbers.
    pub fn new(numbers: usize) -> Self {
        Self(vec![0; numbers].into())
    }

    /// Uses of one number.
    pub fn of(&self, number: u16) -> u32 {
        self.0.get(usize::from(number)).copied().unwrap_or(0)
    }

    /// There are new ones, and others have gone.
    pub fn change(&mut self, gone: impl Iterator<Item = u16>, new: impl Iterator<Item = u16>) {
        for number in new {
            if let Some(count) = self.0.get_mut(usize::from(number)) {
                *count += 1;
            }
        }
        for number in gone {
            if let Some(count) = self.0.get_mut(usize::from(number)) {
                *count = count.saturating_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_counted_as_often_as_they_come_and_go() {
        let mut counts = UseCounts::new(2);
        counts.change([].into_iter(), [0, 0, 1].into_iter());
        counts.change([0, 1].into_iter(), [1].into_iter());
        assert_eq!([counts.of(0), counts.of(1)], [1, 1]);
        // One that is not there is nobody's, and none is used less than not at all.
        counts.change([1, 1, 2].into_iter(), [2].into_iter());
        assert_eq!([counts.of(0), counts.of(1), counts.of(2)], [1, 0, 0]);
    }
}
