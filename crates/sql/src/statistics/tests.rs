//! When plans are made anew, and what is read of kept statistics.

use super::histogram::Sample;
use super::stored::Kept;
use super::*;
use crate::types::ColumnType;

fn seen(rows: u64, distinct: u64) -> Collected {
    let index = IndexStatistics { distinct: vec![distinct], entry_bytes: 20.0, ..IndexStatistics::default() };
    Collected {
        rows: Some(rows),
        row_bytes: 50.0,
        indexes: BTreeMap::from([(7, index)]),
        at: 1,
        ..Collected::default()
    }
}

fn collect(statistics: &TableStatistics, collected: Collected) -> u64 {
    statistics.collect(|| Ok::<_, ()>(collected)).expect("it is given");
    statistics.version()
}

#[test]
fn the_version_rises_when_something_doubles_and_not_before() {
    let statistics = TableStatistics::empty();
    assert_eq!(collect(&statistics, seen(90, 10)), 0, "no table is very small");
    assert_eq!(collect(&statistics, seen(1000, 10)), 1);
    assert_eq!(collect(&statistics, seen(1900, 19)), 1);
    assert_eq!(collect(&statistics, seen(2000, 20)), 2, "in small steps as well");
    assert_eq!(collect(&statistics, seen(2000, 40)), 3);
    assert_eq!(collect(&statistics, seen(900, 18)), 4);
}

#[test]
fn a_table_is_due_when_a_tenth_has_changed_and_it_has_rested() {
    let statistics = TableStatistics::empty();
    collect(&statistics, Collected { at: 100, ..seen(1000, 10) });
    assert!(!statistics.is_due(200));
    statistics.add(RowChanges { inserted: 50, deleted: 20, moved: 30 });
    assert!(!statistics.is_due(200));
    statistics.add(RowChanges { moved: 1, ..RowChanges::default() });
    assert!(statistics.is_due(200));
    assert!(!statistics.is_due(105), "it rests");
    statistics.add(RowChanges { inserted: 1000, ..RowChanges::default() });
    assert!(statistics.is_due(105), "it has doubled");
    assert_eq!(statistics.rows(), Some(2030));
}

#[test]
fn what_was_kept_comes_back_and_what_is_damaged_does_not() {
    let tables = BTreeMap::from([(3, seen(1000, 10)), (4, seen(5, 5))]);
    let histogram = Histogram::of(ColumnType::Date, Sample::default(), 7, 1);
    let histograms = BTreeMap::from([(4, Histograms::from([("c".to_owned(), histogram)]))]);
    let kept = Kept::of(tables, histograms);
    let bytes = kept.to_bytes();
    assert_eq!(Kept::from_bytes(&bytes), Some(kept));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert_eq!(Kept::from_bytes(&damaged), None, "byte {at}");
        assert_eq!(Kept::from_bytes(&bytes[..at]), None, "the first {at} bytes");
    }
}

#[test]
fn a_copy_from_before_there_were_histograms_is_read() {
    let text = br#"{"format":1,"tables":{"3":{"rows":5,"row_bytes":50.0,"indexes":{},"at":1}}}"#;
    let bytes = [format!("{:08x}\n", crc32fast::hash(text)).as_bytes(), text].concat();
    let kept = Kept::from_bytes(&bytes).expect("it is whole");
    assert_eq!((kept.tables[&3].rows, kept.histograms.len()), (Some(5), 0));
}

#[test]
fn plans_are_made_anew_when_a_histogram_changes() {
    let statistics = TableStatistics::empty();
    let make = |histograms: &mut Histograms| {
        histograms.insert("c".to_owned(), Histogram::of(ColumnType::Date, Sample::default(), 7, 1));
        true
    };
    assert!(statistics.change_histograms(make));
    assert_eq!((statistics.version(), statistics.has_unkept()), (1, true));
    assert_eq!(statistics.histograms_to_keep().len(), 1);
    assert!(!statistics.has_unkept());
    assert!(!statistics.change_histograms(|histograms| histograms.remove("d").is_some()));
    assert_eq!((statistics.version(), statistics.has_unkept()), (1, false));
    assert_eq!(collect(&statistics, seen(10, 10)), 1);
    assert_eq!(statistics.histograms().len(), 1, "a look at the table leaves them");
    assert!(statistics.change_histograms(|histograms| histograms.remove("c").is_some()));
    assert_eq!((statistics.version(), statistics.has_unkept()), (2, true));
}

#[test]
fn the_share_before_a_key_lies_between_those_of_its_neighbours() {
    let key = |number: u32| [&[0, 0, 0, 7][..], &number.to_be_bytes()].concat();
    let spread = vec![(key(100), 0.0), (key(200), 0.5), (key(300), 0.6), (key(300), 0.6), (key(400), 1.0)];
    let index = IndexStatistics { spread, ..IndexStatistics::default() };
    let before = |number| (index.share_before(&key(number)).expect("it is known") * 1000.0).round();
    assert_eq!(
        [0, 100, 150, 200, 250, 300, 350, 400, 500].map(before),
        [0, 0, 250, 500, 550, 600, 800, 1000, 1000].map(f64::from)
    );
    assert_eq!(index.share_before(&key(200)[..4]), Some(0.0), "before all");
    assert_eq!(IndexStatistics::default().share_before(&key(1)), None);
}
