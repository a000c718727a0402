//! Views and cursors over layers and tree.

use std::sync::Arc;

use ::redb::{AccessGuard, Range, ReadOnlyTable, ReadableDatabase, StorageError};

use super::file::{damaged_page, despite_damage};
use super::layer::Change;
use super::{NAME, OpenFile, ROWS};
use crate::version::{Map, VersionCursor};
use crate::{Cursor, Direction, Entry, KeyRange, MIN_KEY_LEN, ReadError, Snapshot};

pub(super) const FIRST_KEY: &[u8] = &[0; MIN_KEY_LEN];

type Rows = ReadOnlyTable<&'static [u8], &'static [u8]>;
type Guard = AccessGuard<'static, &'static [u8]>;

/// The tree as one transaction left it. The table stands before the database and is dropped first.
pub(super) struct Tree {
    rows: Rows,
    _db: Arc<OpenFile>,
}

impl Tree {
    /// The tree as the last transaction left it.
    pub(super) fn current(db: &Arc<OpenFile>) -> Result<Tree, ::redb::Error> {
        let rows = db.begin_read()?.open_table(ROWS)?;
        Ok(Tree { rows, _db: db.clone() })
    }

    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }
}

/// Everything applied when it was made: layers, newest first, over a tree.
pub(super) struct View {
    layers: Vec<Map<Change>>,
    tree: Arc<Tree>,
}

impl View {
    pub(super) fn new<'a>(layers: impl Iterator<Item = &'a Map<Change>>, tree: &Arc<Tree>) -> View {
        View { layers: layers.filter(|map| !map.is_empty()).cloned().collect(), tree: tree.clone() }
    }
}

impl Snapshot for View {
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, ReadError> {
        value.clear();
        if key.len() < MIN_KEY_LEN {
            return Ok(false);
        }
        if let Some(change) = self.layers.iter().find_map(|layer| layer.get(key)) {
            value.extend_from_slice(change.as_deref().unwrap_or_default());
            return Ok(change.is_some());
        }
        let get = || {
            let found = self.tree.rows.get(key)?;
            if let Some(found) = &found {
                value.extend_from_slice(found.value());
            }
            Ok(found.is_some())
        };
        despite_damage(get, damaged_page).map_err(read_error)
    }

    fn cursor(&self, range: &KeyRange, direction: Direction) -> Result<Box<dyn Cursor>, ReadError> {
        let range = KeyRange { lower: range.lower.clone().max(FIRST_KEY.to_vec()), upper: range.upper.clone() };
        if range.lower >= range.upper {
            return Ok(Box::new(MergingCursor { sources: Vec::new(), direction }));
        }
        let layers = self.layers.iter().map(|map| Origin::Layer(VersionCursor::new(map.clone(), &range, direction)));
        let tree = Origin::Tree(Box::new(TreeCursor::new(&self.tree, &range, direction)?));
        let sources = layers.chain([tree]).map(|from| Source { from, passed: true }).collect();
        Ok(Box::new(MergingCursor { sources, direction }))
    }
}

/// Walks a range of the tree.
struct TreeCursor {
    at: Option<(Guard, Guard)>,
    range: Option<Range<'static, &'static [u8], &'static [u8]>>,
    direction: Direction,
    _tree: Arc<Tree>,
}

impl TreeCursor {
    fn new(tree: &Arc<Tree>, range: &KeyRange, direction: Direction) -> Result<TreeCursor, ReadError> {
        let range = || tree.rows.range(range.lower.as_slice()..range.upper.as_slice());
        let range = despite_damage(range, damaged_page).map_err(read_error)?;
        Ok(TreeCursor { at: None, range: Some(range), direction, _tree: tree.clone() })
    }

    fn step(&mut self) -> Result<(), ReadError> {
        let step = || {
            let found = self.range.as_mut().and_then(|range| match self.direction {
                Direction::Forward => range.next(),
                Direction::Reverse => range.next_back(),
            });
            found.transpose()
        };
        self.at = despite_damage(step, damaged_page).map_err(read_error)?;
        if self.at.is_none() {
            self.range = None;
        }
        Ok(())
    }
}

/// What a cursor merges, newest first.
enum Origin {
    Layer(VersionCursor<Change>),
    Tree(Box<TreeCursor>),
}

struct Source {
    from: Origin,
    /// Where it stands has been seen; it has to step before it is looked at again.
    passed: bool,
}

impl Source {
    fn step(&mut self) -> Result<(), ReadError> {
        match &mut self.from {
            Origin::Layer(layer) => {
                layer.step();
                Ok(())
            }
            Origin::Tree(tree) => tree.step(),
        }
    }

    fn key(&self) -> Option<&[u8]> {
        match &self.from {
            Origin::Layer(layer) => layer.entry().map(|(key, _)| key),
            Origin::Tree(tree) => tree.at.as_ref().map(|(key, _)| key.value()),
        }
    }

    /// The value at its key, `None` where it was deleted.
    fn value(&self) -> Option<&[u8]> {
        match &self.from {
            Origin::Layer(layer) => layer.entry().and_then(|(_, change)| change.as_deref()),
            Origin::Tree(tree) => tree.at.as_ref().map(|(_, value)| value.value()),
        }
    }
}

/// Walks all sources at once; of entries with the same key the first source's counts.
struct MergingCursor {
    sources: Vec<Source>,
    direction: Direction,
}

impl MergingCursor {
    /// Steps every source that has to, and returns the one whose entry is next.
    fn step(&mut self) -> Result<Option<usize>, ReadError> {
        for source in self.sources.iter_mut().filter(|source| source.passed) {
            source.step()?;
            source.passed = false;
        }
        let mut next: Option<(usize, &[u8])> = None;
        for (number, source) in self.sources.iter().enumerate() {
            let Some(key) = source.key() else { continue };
            let sooner = next.is_none_or(|(_, first)| match self.direction {
                Direction::Forward => key < first,
                Direction::Reverse => key > first,
            });
            if sooner {
                next = Some((number, key));
            }
        }
        Ok(next.map(|(number, _)| number))
    }
}

impl Cursor for MergingCursor {
    fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        let found = loop {
            let first = match self.step() {
                Ok(Some(first)) => first,
                Ok(None) => break None,
                Err(error) => {
                    self.sources.clear();
                    return Err(error);
                }
            };
            for number in first + 1..self.sources.len() {
                let same = self.sources[number].key() == self.sources[first].key();
                self.sources[number].passed = same;
            }
            self.sources[first].passed = true;
            if self.sources[first].value().is_some() {
                break Some(first);
            }
        };
        let entry = found.and_then(|first| {
            let source = &self.sources[first];
            source.key().zip(source.value())
        });
        Ok(entry.map(|(key, value)| Entry { key, value }))
    }
}

fn read_error(error: StorageError) -> ReadError {
    ReadError { engine: NAME, detail: error.to_string() }
}
