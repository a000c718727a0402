//! Statements at random, with marks that are gone back to: what comes out is what was written, in order.

use cohort_io::SeededRandom;

use super::*;

const TABLES: u64 = 3;
const KINDS: [EventType; 3] = [EventType::WRITE_ROWS, EventType::UPDATE_ROWS, EventType::DELETE_ROWS];

/// What a statement wrote: kind and table of the event, the row's number, its bytes.
type Change = (EventType, u64, i64, usize);

struct Mark {
    mark: EventsMark,
    statements: usize,
    /// Changes of the running statement, which ends the mark; none between statements.
    changes: usize,
}

struct Writer {
    random: SeededRandom,
    tables: Vec<Arc<TableMap>>,
    events: TransactionEvents,
    statements: Vec<Vec<Change>>,
    running: Vec<Change>,
    marks: Vec<Mark>,
    number: i32,
}

impl Writer {
    fn new(seed: u64, row_event_bytes_max: usize) -> Writer {
        Writer {
            random: SeededRandom::new(seed),
            tables: (1..=TABLES).map(simple_table).collect(),
            events: TransactionEvents::new(EventOptions { row_event_bytes_max, ..EventOptions::default() }),
            statements: Vec::new(),
            running: Vec::new(),
            marks: Vec::new(),
            number: 0,
        }
    }

    fn change(&mut self) {
        self.number += 1;
        let kind = KINDS[self.random.below(3) as usize];
        let id = 1 + self.random.below(TABLES);
        let table = &self.tables[id as usize - 1];
        let text_max = if self.random.below(8) == 0 { 700 } else { 30 };
        let image = simple_row(self.number, &vec![b'x'; self.random.below(text_max) as usize]);
        let before = simple_row(0, b"before");
        let bytes = match kind {
            EventType::UPDATE_ROWS => {
                self.events.update_row(table, &before, &image);
                before.len() + image.len()
            }
            EventType::WRITE_ROWS => {
                self.events.write_row(table, &image);
                image.len()
            }
            _ => {
                self.events.delete_row(table, &image);
                image.len()
            }
        };
        self.running.push((kind, id, self.number.into(), bytes));
    }

    fn end_statement(&mut self) {
        self.events.end_statement();
        let ended = std::mem::take(&mut self.running);
        self.statements.extend((!ended.is_empty()).then_some(ended));
        self.marks.retain(|mark| mark.changes == 0);
    }

    fn set_mark(&mut self) {
        let (statements, changes) = (self.statements.len(), self.running.len());
        self.marks.push(Mark { mark: self.events.mark(), statements, changes });
    }

    fn go_back(&mut self) {
        if self.marks.is_empty() {
            return;
        }
        self.marks.truncate(1 + self.random.below(self.marks.len() as u64) as usize);
        let Mark { mark, statements, changes } = self.marks.pop().expect("one is kept");
        self.events.truncate(mark);
        if changes == 0 {
            self.running.clear();
            self.statements.truncate(statements);
        } else {
            self.running.truncate(changes);
        }
    }

    fn run(&mut self, steps: u64) {
        for _ in 0..steps {
            match self.random.below(12) {
                0 => self.end_statement(),
                1 => self.set_mark(),
                2 => self.go_back(),
                _ => self.change(),
            }
            let written = !self.statements.is_empty() || !self.running.is_empty();
            assert!(!written || !self.events.is_empty());
        }
    }
}

/// The changes of each statement in a transaction that begins at `at`. What must hold of its events is checked.
fn read_back(bytes: &[u8], at: u64, row_event_bytes_max: usize) -> Vec<Vec<Change>> {
    let events: Vec<Event> = events_of(bytes, at).map(|event| event.expect("a whole event")).collect();
    let [gtid, begin, changed @ .., xid] = &events[..] else { panic!("too few events") };
    let (Ok(EventBody::Gtid(gtid)), Ok(EventBody::Xid(xid))) = (gtid.decode(), xid.decode()) else {
        panic!("no frame")
    };
    assert_eq!((gtid.transaction_bytes, xid.xid), (bytes.len() as u64, 1001));
    assert!(matches!(begin.decode(), Ok(EventBody::Query(query)) if query.sql == b"BEGIN"));
    let mut statements = Vec::new();
    let (mut running, mut maps) = (Vec::new(), Vec::<TableMapEvent>::new());
    let mut before: Option<(EventType, u64, usize)> = None;
    for event in changed {
        match event.decode().expect("decodes") {
            EventBody::TableMap(map) => {
                assert!(running.is_empty(), "tables are announced in front of the rows");
                assert!(maps.iter().all(|known| known.table_id != map.table_id), "and once");
                maps.push(map);
            }
            EventBody::Rows(rows) => {
                let map = maps.iter().find(|map| map.table_id == rows.table_id).expect("an announced table");
                let found: Vec<Change> = rows.rows(map).map(|row| change(&rows, row.expect("a row"))).collect();
                let bytes = event.header.event_bytes as usize;
                assert!(found.len() == 1 || bytes <= row_event_bytes_max, "{} rows in {bytes} bytes", found.len());
                if let Some((kind, table, bytes)) =
                    before.filter(|before| (before.0, before.1) == (rows.kind, rows.table_id))
                {
                    assert!(bytes + found[0].3 > row_event_bytes_max, "{kind:?} {table} had room for a row more");
                }
                before = Some((rows.kind, rows.table_id, bytes));
                running.extend(found);
                if rows.statement_end {
                    statements.push(std::mem::take(&mut running));
                    maps.clear();
                    before = None;
                }
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(running.is_empty() && maps.is_empty(), "the last event says that the statement ends");
    statements
}

fn change(event: &RowsEvent, row: Row) -> Change {
    let images: Vec<Vec<Value>> = [row.before, row.after].into_iter().flatten().collect();
    let bytes = images.iter().map(|image| match &image[1] {
        Value::Bytes(text) => 7 + text.len(),
        other => panic!("{other:?}"),
    });
    let Value::Int(number) = images.last().expect("an image")[0] else { panic!("no number") };
    (event.kind, event.table_id, number, bytes.sum())
}

#[test]
fn what_is_written_and_not_taken_back_is_read_in_its_order() {
    for seed in 0..300 {
        let row_event_bytes_max = [120, 300, 2500][seed as usize % 3];
        let mut writer = Writer::new(seed, row_event_bytes_max);
        for _ in 0..2 {
            writer.run(60);
            let most = writer.events.byte_len();
            writer.events.seal();
            writer.end_statement();
            let expected = std::mem::take(&mut writer.statements);
            if expected.is_empty() {
                assert!(writer.events.laid_out_len() <= most);
            } else {
                let at = 4 + seed * 1_000_003;
                let mut bytes = b"before".to_vec();
                let announced = writer.events.laid_out_len();
                let end = writer.events.lay_out(&mut bytes, at, &stamp(1));
                assert_eq!((end, bytes.len()), (at + announced, 6 + announced as usize), "seed {seed}");
                // The most that was said counts nine bytes for a length that takes one to nine.
                assert_eq!(most - announced, 9 - crate::wire::lenenc_len(announced) as u64, "seed {seed}");
                let found = read_back(&bytes[6..], at, row_event_bytes_max);
                assert!(found == expected, "seed {seed}: {found:?}, not {expected:?}");
            }
            writer.events.clear();
            writer.marks.clear();
            assert!(writer.events.is_empty());
        }
    }
}

#[test]
fn events_carry_the_time_the_database_and_the_flags_of_their_session() {
    let events_in = |events: &mut TransactionEvents| {
        let mut bytes = Vec::new();
        events.lay_out(&mut bytes, 4, &stamp(1));
        let found = events_of(&bytes, 4).map(|event| event.expect("whole"));
        let found: Vec<_> =
            found.map(|event| (event.header.timestamp_s, event.body[0], query_database(&event))).collect();
        events.clear();
        found
    };
    let mut events = new_events();
    for (time, database) in [(1, "shop"), (2, "other"), (3, ""), (3, "shop")] {
        events.set_timestamp(time);
        events.set_context(&QueryContext { thread_id: time, ..QueryContext::default() }, database);
        events.write_row(&simple_table(1), &simple_row(1, b"a"));
        assert!(!events.is_serial());
        let found = events_in(&mut events);
        assert!(found.iter().all(|event| event.0 == time));
        assert_eq!((found[0].1, found[1].1, found[1].2.as_deref()), (0, time as u8, Some(database)), "rows only");
        events.query(database, "DROP TABLE t1");
        assert!(events.is_serial());
        let found = events_in(&mut events);
        assert_eq!((found[0].1, found[1].2.as_deref()), (1, Some(database)), "a statement");
        assert!(!events.is_serial());
    }
    events.start_xa(XaId::new(b"a", b"", 1).expect("a name"));
    events.end_xa();
    assert!(events.is_empty() && !events.is_serial(), "it has done nothing");
    events.write_row(&simple_table(1), &simple_row(1, b"a"));
    events.end_xa();
    assert!(events.is_serial());
}

#[test]
fn an_xa_transaction_in_one_phase_has_the_events_of_a_plain_one() {
    for number_xa in [false, true] {
        let options = EventOptions { number_xa, ..EventOptions::default() };
        let mut laid_out = Vec::new();
        for xa in [false, true] {
            let mut events = TransactionEvents::new(options.clone());
            if xa {
                events.start_xa(XaId::new(b"a name", b"of a branch", 1).expect("a name"));
            }
            for (table, length) in [(1, 1), (1, 3000), (2, 5)] {
                events.write_row(&simple_table(table), &simple_row(1, &vec![b'a'; length]));
                if length > 1 {
                    events.seal();
                }
            }
            events.leave_xa();
            assert!(!events.is_serial());
            let mut bytes = Vec::new();
            events.lay_out(&mut bytes, 4, &stamp(1));
            laid_out.push(bytes);
        }
        assert_eq!(laid_out[0], laid_out[1]);
    }
}

fn query_database(event: &Event<'_>) -> Option<String> {
    match event.decode().expect("decodes") {
        EventBody::Query(query) => Some(String::from_utf8_lossy(query.database).into_owned()),
        _ => None,
    }
}

#[test]
#[should_panic(expected = "a mark within a statement is used before its end")]
fn a_mark_within_a_statement_is_not_good_in_the_next_one() {
    let mut events = new_events();
    events.write_row(&simple_table(1), &simple_row(1, b"a"));
    let mark = events.mark();
    events.end_statement();
    events.write_row(&simple_table(1), &simple_row(2, b"b"));
    events.truncate(mark);
}
