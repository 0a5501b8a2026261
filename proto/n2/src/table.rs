//! `message!`, `ie_transfer!`, `messages!`: struct, reader and writer from one list of IEs.
//!
//! ```text
//! message! {
//!     /// NAS Non Delivery Indication (TS 38.413, 9.2.5.4).
//!     pub struct NasNonDelivery = NASNonDeliveryIndication, "NAS Non Delivery Indication", of ids {
//!         /// The NAS message.
//!         expected nas: Vec<u8> = NAS_PDU,
//!         /// Why.
//!         expected cause: Cause = Cause,
//!     }
//! }
//! ```
//!
//! After the struct stand the message of the ASN.1, the name in the TS, and `of ids` where both UE NGAP IDs come first: a
//! field of that name holds them. Each row gives the kind, the field, its type (an [`Element`] of the IE) and the IE, in the
//! order of TS 38.413, 9.2. `[Ie = value]` in front of a row is an IE that is written and never read.
//!
//! | kind        | field       | absent  | cannot be read | makes no sense | written                |
//! |-------------|-------------|---------|----------------|----------------|------------------------|
//! | `required`  | `T`         | refused | refused        | refused        | always                 |
//! | `optional`  | `Option<T>` | `None`  | refused        | refused        | where it is there      |
//! | `ignorable` | `Option<T>` | `None`  | `None`         | `None`         | where it is there      |
//! | `expected`  | `T`         | default | default        | refused        | always                 |
//! | `default`   | `T`         | default | default        | refused        | unless it is the default |
//! | `results`   | `SessionResults` | two IEs, joined by `+`, each as `default`               |||                      |
//!
//! The criticality of an IE that is written is the one that the object set of its message gives it (9.4.4). The criticality of
//! those that are received is looked at before the table reads them (`faulty.rs`, clause 10.3): an IE of the criticality
//! *ignore* that the procedure can do without is `ignorable`, `expected` or `default`. A table may end in `then = path`, a
//! function that reads on where one row is not enough, or finds that the whole makes no sense.

use oxirush_ngap::aper::protocol::Ie;
use oxirush_ngap::ngap::NGAP_PDU;
use oxirush_ngap::{Error, Message as Asn1};

use crate::value::Ids;

/// A value of an IE, as the codec has it and as we do.
pub(crate) trait Element<I: Ie>: Sized {
    /// None of a value that makes no sense.
    fn read(value: I::Value<'_>) -> Option<Self>;

    /// Whether an optional value goes into the message.
    fn is_written(&self) -> bool {
        true
    }

    /// A value outside of its range is an error of the codec.
    fn write(&self) -> Result<I::Value<'static>, Error>;
}

/// A message that can be written.
pub(crate) trait Written {
    /// Name in the TS.
    fn name(&self) -> &'static str;

    /// Both UE NGAP IDs, of a message that has both.
    fn ids(&self) -> Option<Ids>;

    /// The PDU.
    fn write(&self) -> Result<NGAP_PDU, Error>;
}

/// A message that can be read.
pub(crate) trait Message: Written + Sized {
    /// Whether a PDU holds such a message.
    fn is(pdu: &NGAP_PDU) -> bool;

    /// None of values that make no sense.
    fn read(pdu: &NGAP_PDU) -> Result<Option<Self>, Error>;
}

impl<M: Written> Written for Box<M> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn ids(&self) -> Option<Ids> {
        (**self).ids()
    }

    fn write(&self) -> Result<NGAP_PDU, Error> {
        (**self).write()
    }
}

impl<M: Message> Message for Box<M> {
    fn is(pdu: &NGAP_PDU) -> bool {
        M::is(pdu)
    }

    fn read(pdu: &NGAP_PDU) -> Result<Option<Self>, Error> {
        Ok(M::read(pdu)?.map(Box::new))
    }
}

/// Whether a PDU holds a message of this type of the ASN.1.
pub(crate) fn holds<'a, A: Asn1<'a>>(pdu: &NGAP_PDU) -> bool {
    pdu.procedure_code() == A::PROCEDURE_CODE && pdu.direction() == A::DIRECTION
}

/// The octets of a message.
#[allow(clippy::expect_used)]
pub(crate) fn encode(message: &dyn Written) -> Vec<u8> {
    // The codec refuses values outside of their ranges; ours are of checked types.
    message
        .write()
        .and_then(|pdu| pdu.encode())
        .expect("our values are in their ranges")
}

/// See the module's page.
macro_rules! message {
    (
        $(#[$meta:meta])*
        pub struct $name:ident = $asn1:ident, $title:literal $(, of $ids:ident)? {
            $(
                $([$fixed:ident = $value:expr])?
                $(#[$doc:meta])*
                $kind:ident $field:ident: $ty:ty = $ie:ident $(+ $more:ident)?,
            )*
        }
        $(then = $then:path;)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $name {
            $(
                /// AMF UE NGAP ID and RAN UE NGAP ID.
                pub $ids: $crate::value::Ids,
            )?
            $($(#[$doc])* pub $field: $crate::table::field_type!($kind $ty),)*
        }

        impl $crate::table::Written for $name {
            fn name(&self) -> &'static str {
                $title
            }

            fn ids(&self) -> Option<$crate::value::Ids> {
                $(return Some(self.$ids);)?
                #[allow(unreachable_code, reason = "a message without both")]
                None
            }

            #[allow(unused_mut, reason = "messages without IEs")]
            fn write(&self) -> Result<oxirush_ngap::ngap::NGAP_PDU, oxirush_ngap::Error> {
                type Asn1 = oxirush_ngap::ngap::$asn1<'static>;
                let mut ies = Vec::new();
                $(
                    let (amf, ran) = self.$ids;
                    $crate::table::push!(ies, $asn1, AMF_UE_NGAP_ID, amf.0);
                    $crate::table::push!(ies, $asn1, RAN_UE_NGAP_ID, ran.0);
                )?
                $(
                    $($crate::table::push!(ies, $asn1, $fixed, $value);)?
                    $crate::table::write_field!($kind ies, $asn1, self.$field: $ty, $ie $(, $more)?);
                )*
                let message = Asn1::new(oxirush_ngap::ngap::ProtocolIEContainer(ies));
                let criticality = <Asn1 as oxirush_ngap::Message>::CRITICALITY;
                oxirush_ngap::ngap::NGAP_PDU::of_message(&message, criticality)
            }
        }

        impl $crate::table::Message for $name {
            fn is(pdu: &oxirush_ngap::ngap::NGAP_PDU) -> bool {
                $crate::table::holds::<oxirush_ngap::ngap::$asn1<'_>>(pdu)
            }

            #[allow(unused_variables, reason = "messages without IEs")]
            fn read(
                pdu: &oxirush_ngap::ngap::NGAP_PDU,
            ) -> Result<Option<Self>, oxirush_ngap::Error> {
                $(
                    oxirush_ngap::extract_ngap_ies!(pdu, $asn1,
                        req amf: u64 = AMF_UE_NGAP_ID(id),
                        req ran: u32 = RAN_UE_NGAP_ID(id),
                    );
                    let $ids = ($crate::value::AmfUeId(amf), $crate::value::RanUeId(ran));
                )?
                $($crate::table::read_field!($kind pdu, $asn1, $field: $ty, $ie $(, $more)?);)*
                $(let Some($field) = $field else { return Ok(None) };)*
                let this = Self { $($ids,)? $($field,)* };
                $(return Ok($then(pdu, this));)?
                #[allow(unreachable_code, reason = "a message that reads on")]
                Ok(Some(this))
            }
        }
    };
}

/// A transfer that consists of IEs, which an SMF and a gNB exchange inside of messages.
macro_rules! ie_transfer {
    (
        $(#[$meta:meta])*
        pub struct $name:ident = $asn1:ident {
            $($(#[$doc:meta])* $kind:ident $field:ident: $ty:ty = $ie:ident,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $name {
            $($(#[$doc])* pub $field: $crate::table::field_type!($kind $ty),)*
        }

        impl $name {
            /// The octets.
            #[allow(clippy::expect_used)]
            pub fn encode(&self) -> Vec<u8> {
                // As in messages: our values are of checked types.
                let ies = self.ies().expect("our values are in their ranges");
                let ies = oxirush_ngap::ngap::ProtocolIEContainer(ies);
                $crate::value::written(&oxirush_ngap::ngap::$asn1::new(ies))
            }

            fn ies(
                &self,
            ) -> Result<Vec<oxirush_ngap::ngap::ProtocolIEField<'static>>, oxirush_ngap::Error> {
                let mut ies = Vec::new();
                $($crate::table::write_field!($kind ies, $asn1, self.$field: $ty, $ie);)*
                Ok(ies)
            }

            /// Of octets; none if they are none, or hold a value that is not served.
            pub fn decode(octets: &[u8]) -> Option<Self> {
                Self::read(octets).ok().flatten()
            }

            fn read(octets: &[u8]) -> Result<Option<Self>, oxirush_ngap::Error> {
                let transfer: oxirush_ngap::ngap::$asn1<'_> =
                    oxirush_ngap::ngap::decode_open_type(octets)?;
                $($crate::table::read_field!($kind transfer, $asn1, $field: $ty, $ie);)*
                $(let Some($field) = $field else { return Ok(None) };)*
                Ok(Some(Self { $($field,)* }))
            }
        }
    };
}

/// The type that holds a field of a kind.
macro_rules! field_type {
    (optional $ty:ty) => { Option<$ty> };
    (ignorable $ty:ty) => { Option<$ty> };
    ($kind:ident $ty:ty) => { $ty };
}

/// Appends an IE.
macro_rules! push {
    ($ies:ident, $asn1:ident, $ie:ident, $value:expr) => {
        $ies.push(oxirush_ngap::build_ngap_ie!($asn1, $ie($value))?)
    };
}

/// Writes a field as its IE.
macro_rules! write_field {
    (required $ies:ident, $asn1:ident, $this:ident.$field:ident: $ty:ty, $ie:ident) => {
        $crate::table::write_field!(@value $ies, $asn1, &$this.$field, $ty, $ie)
    };
    (expected $ies:ident, $asn1:ident, $this:ident.$field:ident: $ty:ty, $ie:ident) => {
        $crate::table::write_field!(@value $ies, $asn1, &$this.$field, $ty, $ie)
    };
    (default $ies:ident, $asn1:ident, $this:ident.$field:ident: $ty:ty, $ie:ident) => {
        if $this.$field != <$ty>::default() {
            $crate::table::write_field!(@value $ies, $asn1, &$this.$field, $ty, $ie);
        }
    };
    (results $ies:ident, $asn1:ident, $this:ident.$field:ident: $ty:ty, $ie:ident, $failed:ident) => {
        let results = &$this.$field;
        $crate::table::write_field!(default $ies, $asn1, results.done: $crate::value::Transfers, $ie);
        $crate::table::write_field!(default $ies, $asn1, results.failed: $crate::value::Transfers, $failed);
    };
    (@value $ies:ident, $asn1:ident, $value:expr, $ty:ty, $ie:ident) => {
        $crate::table::push!($ies, $asn1, $ie,
            <$ty as $crate::table::Element<oxirush_ngap::ie::$ie>>::write($value)?)
    };
    // Optional or ignorable.
    ($kind:ident $ies:ident, $asn1:ident, $this:ident.$field:ident: $ty:ty, $ie:ident) => {
        if let Some(value) = &$this.$field
            && <$ty as $crate::table::Element<oxirush_ngap::ie::$ie>>::is_written(value)
        {
            $crate::table::write_field!(@value $ies, $asn1, value, $ty, $ie);
        }
    };
}

/// Reads an IE into an option of its field: none of one that makes no sense.
macro_rules! read_field {
    (required $from:ident, $asn1:ident, $field:ident: $ty:ty, $ie:ident) => {
        oxirush_ngap::extract_ngap_ies!($from, $asn1,
            req $field: Option<$ty> = $ie(value) =>
                <$ty as $crate::table::Element<oxirush_ngap::ie::$ie>>::read(value));
    };
    (optional $from:ident, $asn1:ident, $field:ident: $ty:ty, $ie:ident) => {
        oxirush_ngap::extract_ngap_ies!($from, $asn1,
            opt $field: Option<$ty> = $ie(value) =>
                <$ty as $crate::table::Element<oxirush_ngap::ie::$ie>>::read(value));
        let $field = match $field {
            Some(None) => None,
            Some(read) => Some(read),
            None => Some(None),
        };
    };
    (ignorable $from:ident, $asn1:ident, $field:ident: $ty:ty, $ie:ident) => {
        $crate::table::read_field!(@lax $from, $asn1, $field: $ty, $ie);
        let $field = Some($field.flatten());
    };
    (results $from:ident, $asn1:ident, $field:ident: $ty:ty, $ie:ident, $failed:ident) => {
        $crate::table::read_field!(default $from, $asn1, done: $crate::value::Transfers, $ie);
        $crate::table::read_field!(default $from, $asn1, failed: $crate::value::Transfers, $failed);
        let $field = done.zip(failed).map(|(done, failed)| $crate::value::SessionResults { done, failed });
    };
    (@lax $from:ident, $asn1:ident, $field:ident: $ty:ty, $ie:ident) => {
        oxirush_ngap::extract_ngap_ies!($from, $asn1,
            lax $field: Option<$ty> = $ie(value) =>
                <$ty as $crate::table::Element<oxirush_ngap::ie::$ie>>::read(value));
    };
    // Expected or default.
    ($kind:ident $from:ident, $asn1:ident, $field:ident: $ty:ty, $ie:ident) => {
        $crate::table::read_field!(@lax $from, $asn1, $field: $ty, $ie);
        let $field = $field.unwrap_or_else(|| Some(<$ty>::default()));
    };
}

/// An enum of messages, each a struct or, without IEs that count, of a struct of the same name.
macro_rules! messages {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $variant:ident $(($ty:ty))?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$doc])* $variant $(($ty))?,)*
        }

        impl $name {
            fn inner(&self) -> &dyn $crate::table::Written {
                match self {
                    $($crate::table::messages!(@pattern $variant message $(, $ty)?) => {
                        $crate::table::messages!(@inner $variant message $(, $ty)?)
                    })*
                }
            }

            /// Name in the TS.
            pub fn name(&self) -> &'static str {
                self.inner().name()
            }

            /// Both UE NGAP IDs, of a message that has both.
            pub fn ids(&self) -> Option<$crate::value::Ids> {
                self.inner().ids()
            }
        }

        impl $crate::table::Written for $name {
            fn name(&self) -> &'static str {
                self.inner().name()
            }

            fn ids(&self) -> Option<$crate::value::Ids> {
                self.inner().ids()
            }

            fn write(&self) -> Result<oxirush_ngap::ngap::NGAP_PDU, oxirush_ngap::Error> {
                self.inner().write()
            }
        }

        impl $crate::table::Message for $name {
            fn is(pdu: &oxirush_ngap::ngap::NGAP_PDU) -> bool {
                $($crate::table::messages!(@is $variant, pdu $(, $ty)?))||*
            }

            fn read(
                pdu: &oxirush_ngap::ngap::NGAP_PDU,
            ) -> Result<Option<Self>, oxirush_ngap::Error> {
                $($crate::table::messages!(@read $variant, pdu $(, $ty)?);)*
                Ok(None)
            }
        }
    };
    (@pattern $variant:ident $message:ident) => { Self::$variant };
    (@pattern $variant:ident $message:ident, $ty:ty) => { Self::$variant($message) };
    (@inner $variant:ident $message:ident) => { &$variant {} };
    (@inner $variant:ident $message:ident, $ty:ty) => { $message };
    (@is $variant:ident, $pdu:ident) => { <$variant as $crate::table::Message>::is($pdu) };
    (@is $variant:ident, $pdu:ident, $ty:ty) => { <$ty as $crate::table::Message>::is($pdu) };
    (@read $variant:ident, $pdu:ident) => {
        if <$variant as $crate::table::Message>::is($pdu) {
            return Ok(Some(Self::$variant));
        }
    };
    (@read $variant:ident, $pdu:ident, $ty:ty) => {
        if <$ty as $crate::table::Message>::is($pdu) {
            let read = <$ty as $crate::table::Message>::read($pdu)?;
            return Ok(read.map(Self::$variant));
        }
    };
}

/// Lists of PDU sessions with a transfer each differ in nothing but the names of their types.
macro_rules! lists {
    ($($list:ident of $item:ident, $transfer:ident;)*) => {
        $(
            impl $crate::table::Element<oxirush_ngap::ie::$list> for $crate::value::Transfers {
                fn read(list: oxirush_ngap::ngap::$list<'_>) -> Option<Self> {
                    let items = list.0.iter();
                    Some(items.map(|one| (one.pdu_session_id.0, one.$transfer.to_vec())).collect())
                }

                fn write(
                    &self,
                ) -> Result<oxirush_ngap::ngap::$list<'static>, oxirush_ngap::Error> {
                    let item = |(session, transfer): &(u8, Vec<u8>)| {
                        let session = oxirush_ngap::ngap::PDUSessionID(*session);
                        let transfer = transfer.clone().into();
                        oxirush_ngap::ngap::$item::new(session, transfer, None)
                    };
                    Ok(oxirush_ngap::ngap::$list(self.iter().map(item).collect()))
                }
            }
        )*
    };
}

/// Transfers that give a cause and nothing else.
macro_rules! causes {
    ($(
        $asn1:ident($($none:ident),*):
        $(#[$write_doc:meta])* $write:ident $(, $(#[$read_doc:meta])* $read:ident)?;
    )*) => {
        $(
            $(#[$write_doc])*
            pub fn $write(why: $crate::cause::Cause) -> Vec<u8> {
                $crate::value::written(&oxirush_ngap::ngap::$asn1::new(why.as_asn1(), $($none),*))
            }

            $(
                $(#[$read_doc])*
                pub fn $read(octets: &[u8]) -> $crate::cause::Cause {
                    let transfer: Result<oxirush_ngap::ngap::$asn1, _> =
                        oxirush_ngap::ngap::decode_open_type(octets);
                    transfer.map_or($crate::cause::Cause::Unknown, |transfer| {
                        $crate::cause::Cause::of_asn1(&transfer.cause)
                    })
                }
            )?
        )*
    };
}

pub(crate) use {
    causes, field_type, ie_transfer, lists, message, messages, push, read_field, write_field,
};
