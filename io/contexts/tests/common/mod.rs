//! What every store of contexts does, as the tests of each of them check it.

use sluice_sbi::context_store::{Changes, Contexts, Stored};

/// A place of one store, which is opened as a core opens it.
pub trait Place {
    /// The store.
    type Store: Contexts;
    /// Opens it; why it is refused.
    fn open(&self) -> Result<Self::Store, String>;
    /// All that it has.
    fn all(store: &mut Self::Store) -> Stored;
}

pub fn changes(all: &[(&str, Option<&str>)]) -> Changes {
    let octets = |text: &str| text.as_bytes().to_vec();
    let change = |(key, value): &(&str, Option<&str>)| (octets(key), value.map(octets));
    all.iter().map(change).collect()
}

pub fn read<P: Place>(store: &mut P::Store) -> Vec<(String, String)> {
    let text = |octets| String::from_utf8(octets).expect("text");
    let all = P::all(store).into_iter();
    all.map(|(key, value)| (text(key), text(value))).collect()
}

pub fn is(all: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    all.iter().map(owned).collect()
}

/// What was stored is there for the next core, and what was deleted is not.
pub fn is_there_for_the_next_core<P: Place>(place: &P) {
    let mut store = place.open().expect("a new one");
    assert_eq!(read::<P>(&mut store), []);
    let first = changes(&[("a", Some("1")), ("b", Some("2")), ("c", None)]);
    store.put(&first).expect("room");
    let second = changes(&[("a", Some("3")), ("b", None)]);
    store.put(&second).expect("room");
    drop(store);
    let mut store = place.open().expect("that of before");
    assert_eq!(read::<P>(&mut store), is(&[("a", "3")]));
}

/// One core alone has a store, until it ends.
pub fn is_one_cores_alone<P: Place>(place: &P, why: &str) {
    let store = place.open().expect("a new one");
    let other = place.open().err().expect("it is another's");
    assert!(other.contains(why), "{other}");
    drop(store);
    place.open().expect("it is free");
}

/// It stores numbers for ever, two keys of one number at a time, and says when it is under way.
pub fn stores_numbers_for_ever<P: Place>(place: &P, under_way: impl Fn()) {
    let mut store = place.open().expect("a new one");
    // Nobody would kill it if the test that is to do so had crashed.
    let parent = std::os::unix::process::parent_id();
    for number in (0_u64..).take_while(|_| std::os::unix::process::parent_id() == parent) {
        let text = number.to_string();
        let both = changes(&[("one", Some(&text)), ("two", Some(&text))]);
        store.put(&both).expect("room");
        if number == 1_000 {
            under_way();
        }
    }
}

/// Both keys of a core that was killed have the same number.
pub fn has_all_of_a_turn_or_nothing<P: Place>(place: &P) {
    let mut store = place.open().expect("it is whole");
    let all = read::<P>(&mut store);
    let [(one, first), (two, second)] = all.as_slice() else {
        panic!("{all:?}");
    };
    assert_eq!((one.as_str(), two.as_str()), ("one", "two"));
    assert_eq!(first, second);
    assert!(first.parse::<u64>().expect("a number") >= 1_000);
}

/// A change that has no room is refused whole, and what was there stays.
pub fn refuses_whole_what_has_no_room<P: Place>(place: &P, long: usize) {
    let mut store = place.open().expect("a new one");
    store.put(&changes(&[("a", Some("1"))])).expect("room");
    let long = "x".repeat(long);
    let refused = store.put(&changes(&[("a", Some("2")), ("b", Some(&long))]));
    assert!(refused.is_err());
    assert_eq!(read::<P>(&mut store), is(&[("a", "1")]));
}
