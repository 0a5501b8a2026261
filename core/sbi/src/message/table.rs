//! The table of messages: a row has the number, the name, what it asks of whom and what answers it, the name in the
//! TS, and the fields.

macro_rules! messages {
    ($($(#[$doc:meta])* $number:literal $name:ident $(to $nf:ident -> $answer:ident)? $text:literal
        { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq)]
            #[derive(TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
            #[repr(C)]
            pub struct $name {
                $($(#[$field_doc])* pub $field: $type,)*
            }

            impl From<$name> for Message {
                fn from(message: $name) -> Self {
                    Self::$name(message)
                }
            }

            impl TryFrom<Message> for $name {
                type Error = Message;

                fn try_from(message: Message) -> Result<Self, Message> {
                    match message {
                        Message::$name(message) => Ok(message),
                        other => Err(other),
                    }
                }
            }

            $(impl Request for $name {
                type Answer = $answer;
                const TO: Nf = Nf::$nf;
            })?

            const _: () = assert!(size_of::<$name>() + 2 <= LONGEST);
        )*

        /// Numbers, names, fields and sizes of all messages as one number: programs that differ in it do not understand each
        /// other's octets.
        pub const LAYOUT: u64 = table::layout(&[$((
            $number,
            concat!(stringify!($name), $(" ", stringify!($field), " ", stringify!($type)),*),
            size_of::<$name>(),
        ),)*]);

        /// Any message.
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum Message {
            $($(#[$doc])* $name($name),)*
        }

        impl Message {
            /// Its name in the TS.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $text,)*
                }
            }

            /// Writes number and message, and gives their length in octets; none if `room` is shorter than that.
            pub fn write(&self, room: &mut [u8]) -> Option<usize> {
                let (number, message): (u16, &[u8]) = match self {
                    $(Self::$name(message) => ($number, message.as_bytes()),)*
                };
                let length = 2 + message.len();
                let (before, after) = room.get_mut(..length)?.split_at_mut_checked(2)?;
                before.copy_from_slice(&number.to_be_bytes());
                after.copy_from_slice(message);
                Some(length)
            }

            /// As octets: number, then the message.
            pub fn to_octets(&self) -> Vec<u8> {
                let mut octets = vec![0; LONGEST];
                let length = self.write(&mut octets).unwrap_or_default();
                octets.truncate(length);
                octets
            }

            /// Of octets; none if they are no message.
            pub fn from_octets(octets: &[u8]) -> Option<Self> {
                let (number, rest) = octets.split_first_chunk::<2>()?;
                match u16::from_be_bytes(*number) {
                    $($number => $name::try_read_from_bytes(rest).ok().map(Self::$name),)*
                    _ => None,
                }
            }
        }
    };
}

/// FNV-1a of a table of messages.
pub(super) const fn layout(rows: &[(u16, &str, usize)]) -> u64 {
    const fn add(hash: u64, octet: u8) -> u64 {
        (hash ^ octet as u64).wrapping_mul(0x0100_0000_01b3)
    }
    let (mut hash, mut row) = (0xcbf2_9ce4_8422_2325, 0);
    while row < rows.len() {
        let (number, name, size) = rows[row];
        let head = ((number as u64) << 32) | size as u64;
        let (head, name) = (head.to_be_bytes(), name.as_bytes());
        let mut at = 0;
        while at < head.len() {
            hash = add(hash, head[at]);
            at += 1;
        }
        at = 0;
        while at < name.len() {
            hash = add(hash, name[at]);
            at += 1;
        }
        row += 1;
    }
    hash
}
