//! Whether what a follower wrote is what was done, in its order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::{Context, Result, bail, ensure};

use crate::load::{Done, Fate};
use crate::shown::normal;
use crate::tables::COLUMNS;

/// What was done, and which transactions the server has in the end.
pub struct History {
    done: BTreeMap<u64, Done>,
    there: BTreeSet<u64>,
}

/// A change as a follower wrote it.
struct Change<'a> {
    place: &'a str,
    line: String,
}

impl History {
    /// An error if the server itself does not have what it acknowledged.
    pub fn new(done: Vec<Done>, there: BTreeSet<u64>) -> Result<History> {
        let done: BTreeMap<u64, Done> = done.into_iter().map(|done| (done.token, done)).collect();
        for done in done.values() {
            let expected = match done.fate {
                Fate::Committed => true,
                Fate::InDoubt => continue,
                Fate::Absent => false,
            };
            ensure!(there.contains(&done.token) == expected, "{} is {:?}", done.token, done.fate);
        }
        // Whoever loses its connection within a transaction does not know it any more.
        let unknown = there.iter().find(|token| !done.contains_key(token));
        ensure!(unknown.is_none(), "nobody did {unknown:?}");
        Ok(History { done, there })
    }

    /// How many transactions there are.
    pub fn len(&self) -> usize {
        self.there.len()
    }

    /// Judges the lines of a follower that decodes other values in these columns of `all_types`.
    /// `by_table` is for one that keeps the order within each table.
    pub fn judge(&self, written: &str, unjudged: &[&str], by_table: bool) -> Result<()> {
        let mut changes = once(written, unjudged)?;
        if by_table {
            in_order(&mut changes)?;
        }
        let snapshot = changes.iter().take_while(|change| change.line.starts_with("r\t")).count();
        let mut rows: HashMap<String, String> = HashMap::new();
        let mut order = Vec::new();
        for change in &changes[..snapshot] {
            let (table, image) = change.line[2..].split_once('\t').context("a row")?;
            rows.insert(key(table, image), image.to_owned());
            if table == "follow.begun" {
                order.push(token(image)?);
            }
        }
        let copied = order.len();
        self.stream(&changes[snapshot..], unjudged, &mut rows, &mut order)?;
        let seen: BTreeSet<u64> = order.iter().copied().collect();
        ensure!(seen.len() == order.len(), "a transaction came twice");
        let missing: Vec<&u64> = self.there.difference(&seen).take(3).collect();
        ensure!(missing.is_empty(), "{} transactions came of {}, {missing:?} did not", seen.len(), self.there.len());
        let more: Vec<&u64> = seen.difference(&self.there).take(3).collect();
        ensure!(more.is_empty(), "{more:?} came, and are not there");
        self.ensure_real_time(&order, copied)
    }

    /// Each transaction is whole, and finds the rows that those before it have left.
    fn stream(
        &self,
        changes: &[Change],
        unjudged: &[&str],
        rows: &mut HashMap<String, String>,
        order: &mut Vec<u64>,
    ) -> Result<()> {
        let mut at = 0;
        while at < changes.len() {
            let begun = &changes[at];
            let image = begun.line.strip_prefix("+\tfollow.begun\t");
            let image =
                image.with_context(|| format!("at {}: no transaction begins with {}", begun.place, begun.line))?;
            let token = token(image)?;
            let done = self.done.get(&token).with_context(|| format!("nobody did {token}"))?;
            for (number, expected) in done.changes.iter().enumerate() {
                let expected = hidden(&normal(expected), unjudged);
                let came = changes.get(at + number).context("the last transaction is not whole")?;
                ensure!(
                    came.line == expected,
                    "change {number} of {token}, at {}:\n{}\nis expected:\n{expected}",
                    came.place,
                    came.line
                );
                apply(&came.line, rows)?;
            }
            order.push(token);
            at += done.changes.len();
        }
        Ok(())
    }

    /// A transaction whose commit was answered before another one's was sent comes before it. The first `copied` are
    /// those of a snapshot, which have no order.
    fn ensure_real_time(&self, order: &[u64], copied: usize) -> Result<()> {
        let mut later = (u64::MAX, 0);
        for (at, token) in order.iter().enumerate().rev() {
            let done = &self.done[token];
            ensure!(later.0 > done.sent, "{} came after {token}", later.1);
            if at >= copied {
                later = later.min((done.answered, *token));
            }
        }
        Ok(())
    }
}

/// The changes of each place, once: a follower that was killed may have written some again.
fn once<'a>(written: &'a str, unjudged: &[&str]) -> Result<Vec<Change<'a>>> {
    let mut seen: HashMap<&str, u32> = HashMap::new();
    let mut changes = Vec::new();
    // A line without an end was cut by a kill.
    let whole = &written[..written.rfind('\n').map_or(0, |end| end + 1)];
    for text in whole.lines() {
        let (place, line) = text.split_once('\t').context("a place")?;
        let sum = crc32fast::hash(line.as_bytes());
        // The rows of a snapshot are all of one place.
        if line.starts_with("r\t") {
            changes.push(Change { place, line: hidden(&normal(line), unjudged) });
            continue;
        }
        match seen.insert(place, sum) {
            None => changes.push(Change { place, line: hidden(&normal(line), unjudged) }),
            Some(earlier) => ensure!(earlier == sum, "two changes at {place}, one is {line}"),
        }
    }
    Ok(changes)
}

/// Sorts by place, if those of each table are in order.
fn in_order(changes: &mut [Change]) -> Result<()> {
    let number = |place: &str| -> Option<(String, u64, u64)> {
        let mut parts = place.rsplit(' ');
        let (row, position) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some((parts.next()?.to_owned(), position, row))
    };
    let mut last: HashMap<String, (String, u64, u64)> = HashMap::new();
    for change in changes.iter() {
        let place = number(change.place).context("a place")?;
        let table = change.line.split('\t').nth(1).unwrap_or_default();
        let before = last.insert(table.to_owned(), place.clone());
        ensure!(before.is_none_or(|before| before <= place), "{table}: {} is too late", change.place);
    }
    changes.sort_by_cached_key(|change| (!change.line.starts_with("r\t"), number(change.place)));
    Ok(())
}

/// A line without the values that are not judged.
fn hidden(line: &str, unjudged: &[&str]) -> String {
    if unjudged.is_empty() || !line.contains("\tfollow.all_types\t") {
        return line.to_owned();
    }
    let mut column = 0;
    let fields = line.split('\t').enumerate().map(|(at, field)| {
        if at < 2 || field == "=>" {
            column = 0;
            return field;
        }
        column += 1;
        let name = (column > 1).then(|| COLUMNS.get(column - 2)).flatten();
        if name.is_some_and(|(name, ..)| unjudged.contains(name)) { "?" } else { field }
    });
    fields.collect::<Vec<_>>().join("\t")
}

fn token(image: &str) -> Result<u64> {
    Ok(image.split('\t').next().unwrap_or_default().parse()?)
}

fn key(table: &str, image: &str) -> String {
    format!("{table} {}", image.split('\t').next().unwrap_or_default())
}

fn apply(line: &str, rows: &mut HashMap<String, String>) -> Result<()> {
    let (kind, rest) = line.split_once('\t').context("a kind")?;
    let (table, images) = rest.split_once('\t').context("a table")?;
    // Its columns change, and it is truncated.
    if table.starts_with("follow.made_") {
        return Ok(());
    }
    let (before, after) = match kind {
        "+" => (None, Some(images)),
        "-" => (Some(images), None),
        ">" => images.split_once("\t=>\t").map(|(before, after)| (Some(before), Some(after))).context("two images")?,
        other => bail!("a change of kind {other}"),
    };
    let there = before.or(after).and_then(|image| rows.remove(&key(table, image)));
    ensure!(there.as_deref() == before, "{line}\nfinds {there:?}");
    if let Some(after) = after {
        rows.insert(key(table, after), after.to_owned());
    }
    Ok(())
}
