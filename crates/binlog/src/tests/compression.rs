//! Transactions that are compressed.

use super::oracles::mysql_common;
use super::*;

/// Rows that become much shorter.
fn repetitive() -> TransactionEvents {
    let mut events = new_events();
    for statement in 0..3 {
        for id in 0..100 {
            let row = simple_row(statement * 100 + id, b"the same words as in every other row");
            events.write_row(&simple_table(1), &row);
        }
        events.end_statement();
    }
    events
}

/// What a transaction with these events is in a file, from offset `at` on.
fn laid_out(mut events: TransactionEvents, at: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert_eq!(events.lay_out(&mut bytes, at, &stamp(1)), at + bytes.len() as u64);
    bytes
}

fn types(bytes: &[u8]) -> Vec<&'static str> {
    events_of(bytes, 4).map(|event| event.expect("whole").header.event_type.name()).collect()
}

#[test]
fn a_payload_holds_what_would_stand_there_without() {
    let plain = laid_out(repetitive(), 4);
    let mut events = repetitive();
    events.set_compression(Some(3));
    events.compress(1001);
    let packed = laid_out(events, 4);
    assert_eq!(types(&packed), ["Gtid", "Transaction_payload"]);
    assert!(packed.len() * 5 < plain.len(), "{} bytes became {}", plain.len(), packed.len());
    let whole: Vec<Event<'_>> = events_of(&packed, 4).map(|event| event.expect("whole")).collect();
    let Ok(EventBody::Gtid(gtid)) = whole[0].decode() else { panic!("no GTID") };
    assert_eq!((gtid.transaction_bytes, whole[0].body[0]), (packed.len() as u64, 0));
    let inside =
        whole[1].decode().expect("a payload").payload_events(whole[1].offset).expect("sound").expect("a payload");
    assert_eq!(inside.xid(), Ok(Some(1001)));
    let unpacked: Vec<_> = inside.events().map(|event| event.expect("whole")).collect();
    let expected: Vec<_> = events_of(&plain, 4).skip(1).map(|event| event.expect("whole")).collect();
    assert_eq!(unpacked.len(), expected.len());
    for (found, expected) in unpacked.iter().zip(&expected) {
        assert_eq!(
            (found.header.event_type, found.header.timestamp_s),
            (expected.header.event_type, expected.header.timestamp_s)
        );
        assert_eq!(found.body, expected.body);
        assert_eq!(found.header.event_bytes as usize, HEADER_BYTES + found.body.len());
        assert_eq!(found.header.log_pos, 0);
    }
}

#[test]
fn others_read_the_same_from_a_payload() {
    let read = |level: Option<i32>| {
        let mut file = FileUnderTest::new();
        for _ in 0..2 {
            let mut events = repetitive();
            events.set_compression(level);
            events.compress(1000 + file.transactions + 1);
            file.commit(&mut events);
        }
        let (_directory, path) = file.write();
        let (changes, others) = mysql_common(&path);
        // The length of a transaction differs.
        (changes, others.into_iter().filter(|other| !other.starts_with("gtid")).collect::<Vec<_>>())
    };
    let plain = read(None);
    assert_eq!(plain.0.len(), 600);
    for level in [1, 3, 22] {
        assert_eq!(read(Some(level)), plain, "level {level}");
    }
}

#[test]
fn what_does_not_become_shorter_stays_as_it_is() {
    let with = |level| {
        let mut events = new_events();
        events.write_row(&simple_table(1), &simple_row(1, b"short"));
        events.set_compression(level);
        events.compress(1001);
        laid_out(events, 4)
    };
    let plain = with(None);
    // This level is the fastest, which finds nothing here.
    assert_eq!(with(Some(-131_072)), plain);
    assert!(with(Some(3)).len() < plain.len(), "headers repeat themselves");
    let mut nothing = new_events();
    nothing.nothing();
    nothing.set_compression(Some(3));
    nothing.compress(1001);
    assert_eq!(types(&laid_out(nothing, 4)), ["Gtid", "Query", "Query"]);
}

#[test]
fn statements_and_xa_transactions_are_not_compressed() {
    let text = "x".repeat(5000);
    let mut statement = new_events();
    statement.statement(text.as_bytes(), &StatementInputs::default());
    let mut ddl = new_events();
    ddl.query("shop", &text);
    let mut xa = new_events();
    xa.start_xa(XaId::new(b"a", b"b", 1).expect("a name"));
    (0..100).for_each(|id| xa.write_row(&simple_table(1), &simple_row(id, b"again and again and again")));
    xa.end_xa();
    for mut events in [statement, ddl, xa] {
        events.set_compression(Some(3));
        events.compress(1001);
        assert!(!types(&laid_out(events, 4)).contains(&"Transaction_payload"));
    }
}

#[test]
fn after_a_rollback_nothing_of_it_is_left() {
    let mut events = repetitive();
    events.set_compression(Some(3));
    events.clear();
    events.compress(1001);
    assert!(events.is_empty());
    events.write_row(&simple_table(1), &simple_row(1, b"x"));
    assert_eq!(types(&laid_out(events, 4)), ["Gtid", "Query", "Table_map", "Write_rows", "Xid"]);
}
