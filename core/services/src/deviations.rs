//! Deviations of other cores from the TS that are taken all the same: each has a name and a counter.

/// A deviation that is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deviation {
    /// `null` where a member is absent, or for an array.
    Null,
    /// An empty string where a member is absent.
    EmptyString,
    /// `application/json` instead of `application/problem+json`, or another content type of JSON.
    ContentType,
    /// Location without the API root, or with less than the resource's URI; a resource that is asked for by another name
    /// than its Location has.
    Location,
    /// `_links` with an array in place of an object.
    LinkArray,
    /// A body inside of a member `jsonData`.
    JsonData,
    /// Keys of maps by S-NSSAI without the hyphen.
    SliceKey,
    /// Another status than the TS has for it.
    Status,
    /// A discovery that does not tell the slices of whoever asks.
    Requester,
    /// A UDM that reads session data inside of shared data alone, and is given them so.
    SharedData,
    /// An NRF that takes a profile without areas for one that serves nowhere.
    Area,
    /// Consumers that know no other API root than `apiPrefix`.
    ApiPrefix,
}

impl Deviation {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Null,
        Self::EmptyString,
        Self::ContentType,
        Self::Location,
        Self::LinkArray,
        Self::JsonData,
        Self::SliceKey,
        Self::Status,
        Self::Requester,
        Self::SharedData,
        Self::Area,
        Self::ApiPrefix,
    ];

    /// Name in counters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::EmptyString => "empty_string",
            Self::ContentType => "content_type",
            Self::Location => "location",
            Self::LinkArray => "link_array",
            Self::JsonData => "json_data",
            Self::SliceKey => "slice_key",
            Self::Status => "status",
            Self::Requester => "requester",
            Self::SharedData => "shared_data",
            Self::Area => "area",
            Self::ApiPrefix => "api_prefix",
        }
    }
}

/// Counts of deviations that were taken.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Deviations([u64; Deviation::ALL.len()]);

impl Deviations {
    /// One was taken.
    pub fn count(&mut self, deviation: Deviation) {
        if let Some(count) = self.0.get_mut(deviation as usize) {
            *count += 1;
        }
    }

    /// All of them with their counts.
    pub fn all(&self) -> impl Iterator<Item = (Deviation, u64)> {
        Deviation::ALL.into_iter().zip(self.0)
    }
}
