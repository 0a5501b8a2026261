//! `ie_table!`: a struct, its parser and its emitter from one list of IEs.
//!
//! ```text
//! ie_table! {
//!     /// Query URR (7.5.4.10).
//!     pub struct QueryUrr {
//!         /// Which URR.
//!         required urr_id: UrrId = URR_ID,
//!     }
//! }
//! ```
//!
//! Each line gives the kind, the field, the type of its contents (an [`Element`]) and the
//! constant of [`IeType`] that announces it. The kinds, and what they do on receipt:
//!
//! | kind       | field         | absent | contents incorrect            | repeated        |
//! |------------|---------------|--------|-------------------------------|-----------------|
//! | `required` | `T`           | 66     | 69                            | first one holds |
//! | `optional` | `Option<T>`   | `None` | 69                            | first one holds |
//! | `ignorable`| `Option<T>`   | `None` | as if absent                  | first one holds |
//! | `list[N]`  | `ArrayVec<T>` | empty  | 69                            | 75 above N      |
//! | `some[N]`  | `ArrayVec<T>` | 66     | 69                            | 75 above N      |
//!
//! The figures are causes: 66 Mandatory IE missing, 69 Mandatory IE incorrect, 75 No resources
//! available. Contents that are cut short always give 68 Invalid length. Unknown and
//! vendor-specific IEs are skipped (7.6.9), and of a repeated IE the first holds (7.6.10).
//! TS 29.244, 7.6.8 has every incorrect optional IE ignored; that is right for what only
//! informs (`ignorable`), but a rule without its unreadable filter would take other traffic
//! than was meant, so `optional` IEs that shape a rule are refused instead.
//!
//! A table may end in `check = path`, a function that finds missing conditional IEs (cause 67).
//!
//! [`Element`]: super::element::Element
//! [`IeType`]: super::ie_type::IeType

/// See the module's page.
macro_rules! ie_table {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(<$lt:lifetime>)? {
            $(
                $(#[$field_meta:meta])*
                $kind:ident $([$limit:expr])? $field:ident: $ty:ty = $ie:ident,
            )*
        }
        $(check = $check:path;)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $name $(<$lt>)? {
            $(
                $(#[$field_meta])*
                pub $field: $crate::pfcp::table::field_type!($kind $([$limit])? $ty),
            )*
        }

        impl<'a> $name $(<$lt>)? {
            /// The IEs that are read and written, in the order of the TS.
            pub const IES: &'static [$crate::pfcp::IeType] = &[$($crate::pfcp::IeType::$ie),*];

            /// Reads the IEs of this message or group. Large messages are copied on return;
            /// where that counts, use `parse_into`.
            pub fn parse(body: &'a [u8]) -> Result<Self, $crate::pfcp::Reject> {
                let mut this = Self::default();
                this.parse_into(body)?;
                Ok(this)
            }

            /// Reads the IEs in place. `self` must be the default: what it holds is kept.
            #[allow(unused_mut, unused_variables, reason = "groups may lack required IEs")]
            pub fn parse_into(&mut self, body: &'a [u8]) -> Result<(), $crate::pfcp::Reject> {
                #[allow(unused_imports, reason = "a table may be empty")]
                use $crate::pfcp::{IeType, Ies, table};
                $(let mut $field = false;)*
                let mut ies = Ies::new(body);
                while let Some(ie) = ies.next_whole() {
                    match ie.ie_type {
                        $(IeType::$ie => table::read_field!(
                            $kind $([$limit])? self.$field, $field, ie
                        ),)*
                        _ => {}
                    }
                }
                ies.finish()?;
                $(table::require_field!($kind $field, IeType::$ie);)*
                $($check(self)?;)?
                Ok(())
            }

            /// Writes the IEs in the order of the TS.
            #[allow(unused_variables, reason = "a table may be empty")]
            pub fn emit(
                &self,
                out: &mut $crate::pfcp::Writer<'_>,
            ) -> Result<(), $crate::pfcp::Full> {
                #[allow(unused_imports, reason = "a table may be empty")]
                use $crate::pfcp::{IeType, table};
                $(table::write_field!($kind self.$field, IeType::$ie, out);)*
                Ok(())
            }
        }

        impl<'a> $crate::pfcp::element::Element<'a> for $name $(<$lt>)? {
            #[inline]
            fn decode(value: &'a [u8]) -> Result<Self, $crate::pfcp::element::Fault> {
                Ok(Self::parse(value)?)
            }

            #[inline]
            fn decode_into(
                &mut self,
                value: &'a [u8],
            ) -> Result<(), $crate::pfcp::element::Fault> {
                Ok(self.parse_into(value)?)
            }

            #[inline]
            fn decode_option(
                place: &mut Option<Self>,
                value: &'a [u8],
            ) -> Result<(), $crate::pfcp::element::Fault> {
                Ok(place.insert(Self::default()).parse_into(value)?)
            }

            #[inline]
            fn decode_push<const N: usize>(
                list: &mut arrayvec::ArrayVec<Self, N>,
                value: &'a [u8],
            ) -> Result<(), $crate::pfcp::element::Fault> {
                list.push(Self::default());
                match list.last_mut() {
                    Some(place) => Ok(place.parse_into(value)?),
                    None => Ok(()),
                }
            }

            #[inline]
            fn encode(
                &self,
                out: &mut $crate::pfcp::Writer<'_>,
            ) -> Result<(), $crate::pfcp::Full> {
                self.emit(out)
            }
        }
    };
}

/// The type that holds a field of a kind.
macro_rules! field_type {
    (required $ty:ty) => { $ty };
    (optional $ty:ty) => { Option<$ty> };
    (ignorable $ty:ty) => { Option<$ty> };
    (list[$limit:expr] $ty:ty) => { arrayvec::ArrayVec<$ty, { $limit }> };
    (some[$limit:expr] $ty:ty) => { arrayvec::ArrayVec<$ty, { $limit }> };
}

/// Reads one IE into its field; `$seen` tells whether one of its type came before.
macro_rules! read_field {
    (required $this:ident . $field:ident, $seen:ident, $ie:ident) => {
        if !$seen {
            $seen = true;
            $crate::pfcp::table::read(&mut $this.$field, $ie)?;
        }
    };
    (optional $this:ident . $field:ident, $seen:ident, $ie:ident) => {
        if !$seen {
            $seen = true;
            $crate::pfcp::table::read_option(&mut $this.$field, $ie)?;
        }
    };
    (ignorable $this:ident . $field:ident, $seen:ident, $ie:ident) => {
        if !$seen {
            $seen = true;
            $this.$field = $crate::pfcp::table::read_ignorable($ie)?;
        }
    };
    (list[$limit:expr] $this:ident . $field:ident, $seen:ident, $ie:ident) => {{
        $crate::pfcp::table::read_push(&mut $this.$field, $ie)?;
    }};
    (some[$limit:expr] $this:ident . $field:ident, $seen:ident, $ie:ident) => {{
        $seen = true;
        $crate::pfcp::table::read_field!(list[$limit] $this.$field, $seen, $ie)
    }};
}

/// Refuses the message when a field that must be there was not.
macro_rules! require_field {
    (required $seen:ident, $ie:expr) => {
        if !$seen {
            return Err($crate::pfcp::Reject::mandatory_missing($ie));
        }
    };
    (some $seen:ident, $ie:expr) => {
        $crate::pfcp::table::require_field!(required $seen, $ie)
    };
    ($kind:ident $seen:ident, $ie:expr) => {};
}

/// Writes one field as its IE or IEs.
macro_rules! write_field {
    (required $this:ident . $field:ident, $ie:expr, $out:ident) => {
        $out.ie($ie, |out| {
            $crate::pfcp::element::Element::encode(&$this.$field, out)
        })?;
    };
    (optional $this:ident . $field:ident, $ie:expr, $out:ident) => {
        if let Some(element) = &$this.$field {
            $out.ie($ie, |out| $crate::pfcp::element::Element::encode(element, out))?;
        }
    };
    (ignorable $this:ident . $field:ident, $ie:expr, $out:ident) => {
        $crate::pfcp::table::write_field!(optional $this.$field, $ie, $out)
    };
    ($list:ident $this:ident . $field:ident, $ie:expr, $out:ident) => {
        for element in &$this.$field {
            $out.ie($ie, |out| {
                $crate::pfcp::element::Element::encode(element, out)
            })?;
        }
    };
}

pub(crate) use {field_type, ie_table, read_field, require_field, write_field};

use arrayvec::ArrayVec;

use super::element::{Element, Fault};
use super::ie::Ie;
use super::reject::Reject;

/// Reads an IE into the place that is to hold it.
#[inline]
pub(crate) fn read<'a, T: Element<'a>>(place: &mut T, ie: Ie<'a>) -> Result<(), Reject> {
    place
        .decode_into(ie.value)
        .map_err(|fault| fault.into_reject(ie.ie_type))
}

/// Reads an IE that only informs: an incorrect value counts as absent (7.6.8).
#[inline]
pub(crate) fn read_ignorable<'a, T: Element<'a>>(ie: Ie<'a>) -> Result<Option<T>, Reject> {
    match T::decode(ie.value) {
        Ok(value) => Ok(Some(value)),
        Err(Fault::Value) => Ok(None),
        Err(fault) => Err(fault.into_reject(ie.ie_type)),
    }
}

/// Reads an IE into an empty place.
#[inline]
pub(crate) fn read_option<'a, T: Element<'a>>(
    place: &mut Option<T>,
    ie: Ie<'a>,
) -> Result<(), Reject> {
    T::decode_option(place, ie.value).map_err(|fault| fault.into_reject(ie.ie_type))
}

/// Reads an IE behind the end of a list.
#[inline]
pub(crate) fn read_push<'a, T: Element<'a>, const N: usize>(
    list: &mut ArrayVec<T, N>,
    ie: Ie<'a>,
) -> Result<(), Reject> {
    if list.is_full() {
        return Err(Reject::too_many(ie.ie_type));
    }
    T::decode_push(list, ie.value).map_err(|fault| fault.into_reject(ie.ie_type))
}
