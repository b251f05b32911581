//! The map's laws, for memory and disk alike, and what only the disk can get wrong.

use super::*;
use crate::OpenError;

type Open<'a> = &'a dyn Fn() -> Result<OpenedMap, OpenError>;

fn put<'a>(key: &'a [u8], value: &'a [u8]) -> Edit<'a> {
    Edit::Put { key, value }
}

fn contents(map: &DurableMap) -> Vec<(Vec<u8>, Vec<u8>)> {
    map.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

fn prove(open: Open<'_>) {
    let opened = open().unwrap();
    assert!(opened.clean && opened.notes.contains(&Note::Created) && opened.map.is_empty());
    let mut map = opened.map;
    assert!(matches!(open(), Err(OpenError::Locked { .. })));

    let large = vec![7; MAX_VALUE_BYTES];
    map.commit(&[put(b"a", b"1"), put(b"b", &large), put(b"c", b"")]).unwrap();
    map.commit(&[put(b"b", b"short"), Edit::Remove { key: b"a" }]).unwrap();
    map.commit(&[put(b"d", b"first"), put(b"d", &large[..9_000])]).unwrap();
    map.commit(&[Edit::Remove { key: b"never there" }]).unwrap();
    map.commit(&[put(&[u8::MAX; MAX_KEY_BYTES], b"last"), put(&[0], b"early")]).unwrap();
    let expected = contents(&map);
    assert_eq!((map.len(), map.get(b"b")), (5, Some(&b"short"[..])));
    drop(map);

    let opened = open().unwrap();
    assert!(!opened.clean);
    assert_eq!(contents(&opened.map), expected);
    opened.map.close().unwrap();
    let mut opened = open().unwrap();
    assert!(opened.clean);

    let (long_key, long_value) = (vec![1; MAX_KEY_BYTES + 1], vec![1; MAX_VALUE_BYTES + 1]);
    let refused = |map: &mut DurableMap, edit| map.commit(&[put(b"x", b"x"), edit]).unwrap_err();
    let map = &mut opened.map;
    assert_eq!(refused(map, put(b"", b"x")), MapError::BadKey { len_bytes: 0 });
    assert_eq!(refused(map, put(&long_key, b"")), MapError::BadKey { len_bytes: 256 });
    assert_eq!(refused(map, put(b"k", &long_value)), MapError::TooLarge { len_bytes: 65_537 });
    let many = vec![put(b"k", b"v"); MAX_EDITS + 1];
    assert_eq!(map.commit(&many).unwrap_err(), MapError::TooMany { count: 257 });
    let full = vec![1; MAX_VALUE_BYTES];
    let outcome = map.commit(&[put(b"k", &full), put(b"l", &full[..5_000])]);
    assert_eq!(outcome, Err(MapError::TooMuch { len_bytes: 70_538 }));
    assert_eq!(contents(map), expected, "all or nothing");
}

#[test]
fn the_laws_hold_in_memory() {
    let place = MemoryMap::default();
    prove(&|| place.open());
}

#[test]
fn a_failed_commit_stops_the_map_and_leaves_no_trace_in_memory() {
    let place = MemoryMap::default();
    let mut map = place.open().unwrap().map;
    map.commit(&[put(b"a", b"1")]).unwrap();
    place.fail_next_commit(Poison::NoSpace);
    for _ in 0..2 {
        let stopped = MapError::Stopped(Poison::NoSpace);
        assert_eq!(map.commit(&[put(b"a", b"2")]), Err(stopped));
    }
    assert!(matches!(map.close(), Err(CloseError::Poisoned(Poison::NoSpace))));
    let opened = place.open().unwrap();
    assert!(!opened.clean);
    assert_eq!(contents(&opened.map), [(b"a".to_vec(), b"1".to_vec())]);
}

#[cfg(feature = "sled")]
mod on_disk {
    use super::*;

    #[test]
    fn the_laws_hold_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let options = MapOptions::new(dir.path().join("ledger"));
        prove(&|| super::super::open(&options));
    }

    #[test]
    fn a_store_without_its_last_commit_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let options = MapOptions::new(dir.path().join("ledger"));
        let open = || super::super::open(&options);
        let mut map = open().unwrap().map;
        map.commit(&[put(b"a", b"1")]).unwrap();
        map.close().unwrap();
        let earlier = dir.path().join("earlier");
        crate::durable::io::copy_dir(&options.dir.join("store"), &earlier).unwrap();
        let mut map = open().unwrap().map;
        map.commit(&[put(b"a", b"2")]).unwrap();
        map.close().unwrap();
        std::fs::remove_dir_all(options.dir.join("store")).unwrap();
        std::fs::rename(&earlier, options.dir.join("store")).unwrap();
        let error = open().unwrap_err();
        let (two, one) = (crate::Sequence(2), crate::Sequence(1));
        assert!(
            matches!(error, OpenError::Regressed { witness, found } if (witness, found) == (two, one))
        );
    }
}
