//! Types whose all-zero bytes are a value.

use core::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64,
};

use crate::counter::Counter;

/// A type that may lie in an [`Arena`](crate::arena::Arena).
///
/// Crates that forbid unsafe code implement it with
/// [`zeroable_struct!`](crate::zeroable_struct) and
/// [`zeroable_enum!`](crate::zeroable_enum), which check the requirements at
/// compile time.
///
/// # Safety
/// - All bytes zero is a valid value of the type.
/// - The type has no padding: each byte belongs to a field. (An arena may be
///   written out or attached to as bytes.)
/// - It holds no pointer or reference and needs no drop.
pub unsafe trait Zeroable: Sized {}

macro_rules! plain {
    ($($type:ty),*) => {
        // SAFETY: integers and their atomics: every bit pattern is a value, no
        // padding, no pointer, no drop. `bool` is false at zero.
        $(unsafe impl Zeroable for $type {})*
    };
}
plain!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, bool
);
plain!(
    AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicI8, AtomicI16, AtomicI32, AtomicI64
);
plain!(AtomicBool, Counter);

macro_rules! optional {
    ($($type:ident),*) => {
        // SAFETY: the standard library promises that `Option` of a non-zero
        // integer has the size of the integer, and that zero is `None`.
        $(unsafe impl Zeroable for Option<core::num::$type> {})*
    };
}
optional!(NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64);

// SAFETY: an array is its elements, with nothing between or after them.
unsafe impl<T: Zeroable, const N: usize> Zeroable for [T; N] {}

/// Defines a `#[repr(C)]` struct and implements [`Zeroable`] for it. It does not
/// compile if a field is not `Zeroable` or if the struct has padding.
///
/// ```
/// sluice_mem::zeroable_struct! {
///     /// What a session needs per packet.
///     #[derive(Debug)]
///     #[repr(C, align(64))]
///     pub struct Line {
///         /// Tokens left, in bytes.
///         pub tokens_bytes: u64,
///         rest: [u8; 56],
///     }
/// }
/// ```
/// Padding is refused:
/// ```compile_fail
/// sluice_mem::zeroable_struct! {
///     #[repr(C)]
///     struct Padded { a: u8, b: u64 }
/// }
/// ```
/// So is a field without a zero value:
/// ```compile_fail
/// sluice_mem::zeroable_struct! {
///     #[repr(C)]
///     struct Pointing { name: &'static str }
/// }
/// ```
/// A newtype works, too:
/// ```
/// sluice_mem::zeroable_struct! {
///     #[derive(Clone, Copy)]
///     #[repr(transparent)]
///     pub struct Number(pub u16);
/// }
/// ```
#[macro_export]
macro_rules! zeroable_struct {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident($field_vis:vis $type:ty);
    ) => {
        $(#[$meta])*
        $vis struct $name($field_vis $type);

        const _: () = assert!(
            ::core::mem::size_of::<$name>() == ::core::mem::size_of::<$type>(),
            "a zeroable struct must have no padding"
        );

        // SAFETY: its only field is Zeroable (where clause), and there is no padding.
        unsafe impl $crate::Zeroable for $name where $type: $crate::Zeroable {}
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $( $(#[$field_meta])* $field_vis $field: $type ),*
        }

        const _: () = assert!(
            ::core::mem::size_of::<$name>() == 0 $( + ::core::mem::size_of::<$type>() )*,
            "a zeroable struct must have no padding"
        );

        // SAFETY: every field is Zeroable (where clauses), the sizes of the
        // fields add up to the size of the struct, so there is no padding; a
        // Drop of its own is refused by the arena.
        unsafe impl $crate::Zeroable for $name where $( $type: $crate::Zeroable ),* {}
    };
}

/// Defines an enum without data, represented by an integer type, and
/// implements [`Zeroable`] for it. The first variant must have the value 0.
///
/// ```
/// sluice_mem::zeroable_enum! {
///     /// What to do with the packet.
///     #[derive(Clone, Copy, Debug, PartialEq, Eq)]
///     pub enum Action: u8 {
///         /// Drop it.
///         Drop = 0,
///         /// Send it on.
///         Forward = 1,
///     }
/// }
/// ```
/// ```compile_fail
/// sluice_mem::zeroable_enum! {
///     enum NoZero: u8 { A = 1, B = 2 }
/// }
/// ```
#[macro_export]
macro_rules! zeroable_enum {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident : $int:ident {
            $(#[$first_meta:meta])* $first:ident = $first_value:literal
            $( , $(#[$variant_meta:meta])* $variant:ident = $value:literal )* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[repr($int)]
        $vis enum $name {
            $(#[$first_meta])* $first = $first_value
            $( , $(#[$variant_meta])* $variant = $value )*
        }

        const _: () = assert!(
            $name::$first as $int == 0,
            "the first variant of a zeroable enum must be 0"
        );

        // SAFETY: the enum is its integer, without padding, and zero is a variant.
        unsafe impl $crate::Zeroable for $name {}
    };
}

#[cfg(test)]
mod tests {
    use crate::arena::Arena;
    use crate::counter::Counter;

    crate::zeroable_enum! {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Gate: u8 { Closed = 0, Open = 1 }
    }

    crate::zeroable_struct! {
        #[repr(C, align(64))]
        struct Line {
            packets: Counter,
            peer: Option<core::num::NonZeroU32>,
            gates: [Gate; 2],
            rest: [u8; 50],
        }
    }

    #[test]
    fn elements_of_an_arena_start_with_the_zero_value_of_each_field() {
        let arena: Arena<Line> = Arena::new("test", 2).unwrap();
        let [_, line] = arena.as_slice() else {
            panic!("two lines")
        };
        assert_eq!((line.packets.get(), line.peer), (0, None));
        assert_eq!((line.gates, line.rest), ([Gate::Closed; 2], [0; 50]));
        line.packets.add(3);
        assert_eq!(line.packets.get(), 3);
        assert_ne!(Gate::Open, Gate::Closed);
    }
}
