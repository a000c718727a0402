//! Where the points of files come from, and the files beside them that keep points for the next server.

use std::path::PathBuf;

use cohort_io::{Create, IoError, OpenOptions, read_whole};

use super::super::gtid::GtidSet;
use super::super::points::{self, POINTS_ENDING, Point};
use super::super::reader::{ReadError, ReaderOptions};
use super::BinlogFiles;
use crate::index::file_number;

/// Points are less than a hundredth of a file.
const STORED_BYTES_MAX: u64 = 64 << 20;
/// How much of a binlog file is read for each point that is checked: a GTID event is shorter.
const CHECK_BYTES: usize = 512;

impl BinlogFiles {
    /// The offset of the last point of a file before which there is nothing but what is `known`, at `end` at most, where
    /// the file ends for now.
    pub(in super::super) fn last_known_point(
        &self,
        number: u64,
        known: &GtidSet,
        end: u64,
    ) -> Result<Option<u64>, ReadError> {
        if let Ok(found) = self.points.last_known(number, known, end) {
            return Ok(found);
        }
        let _reading = self.points.reading();
        if let Ok(found) = self.points.last_known(number, known, end) {
            return Ok(found);
        }
        match self.stored_points(number) {
            Some(points) => self.points.keep(number, points, true),
            None => {
                let options = ReaderOptions { end: Some(end), ..ReaderOptions::default() };
                let (points, _) = points::read(self.reader(number, options)?, false)?;
                self.points.keep(number, points, false);
            }
        }
        Ok(self.points.last_known(number, known, end).ok().flatten())
    }

    /// Every transaction that was ever written to the binlog: reads the last file, whose points are known afterwards.
    pub fn executed_gtids(&self) -> Result<GtidSet, ReadError> {
        let Some(end) = self.end() else { return Ok(GtidSet::new()) };
        let reader = self.reader(end.file_number, ReaderOptions::default())?;
        let (points, executed) = points::read(reader, true)?;
        self.points.keep(end.file_number, points, false);
        Ok(executed)
    }

    /// Stores the points of files that have ended for the next server, off the commit path. They are not synced, and where
    /// they cannot be written nothing is lost but time.
    pub fn store_points(&self) {
        let Some(last) = self.end().and_then(|end| end.file_number.checked_sub(1)) else { return };
        for (number, points) in self.points.take_unstored(last) {
            if let Err(error) = self.write_points(number, &points) {
                log::warn!("the places where readers may begin in {} are not stored: {error}", self.file_name(number));
            }
        }
    }

    fn write_points(&self, number: u64, points: &[Point]) -> Result<(), IoError> {
        let file = self.fs.open(&self.points_path(number), &OpenOptions::buffered(Create::IfMissing))?;
        file.set_len(0)?;
        file.write_at(0, &points::encode(points))
    }

    /// The points beside a file that has ended, if there are such and they are those of the file.
    fn stored_points(&self, number: u64) -> Option<Vec<Point>> {
        let path = self.points_path(number);
        if !self.fs.exists(&path).ok()? {
            return None;
        }
        let bytes = read_whole(&*self.fs, &path, STORED_BYTES_MAX).ok()?;
        let reader = self.reader(number, ReaderOptions::default()).ok()?.reading_ahead(CHECK_BYTES);
        let next = self.previous_gtids(number + 1).ok();
        points::checked(&bytes, reader, next.as_ref())
    }

    /// Removes the points beside a file that is gone.
    pub(super) fn remove_points(&self, number: u64) {
        let path = self.points_path(number);
        if self.fs.exists(&path).unwrap_or_default() {
            // What stays is removed by the next start.
            let _ = self.fs.remove(&path);
        }
    }

    /// The number of the file beside which there is a file of this name.
    pub(super) fn points_number(&self, name: &str) -> Option<u64> {
        file_number(&self.options.base_name, name.strip_suffix(POINTS_ENDING)?)
    }

    fn points_path(&self, number: u64) -> PathBuf {
        self.options.directory.join(self.file_name(number) + POINTS_ENDING)
    }
}
