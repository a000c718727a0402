//! `mariadb-binlog` copies the files of a server while they grow.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Server, binlog_end, tool};
use mysql::prelude::Queryable;

use crate::program::Kept;

pub struct Copies {
    folder: PathBuf,
    kept: Kept,
}

/// Goes on with the last file that is there, as whoever keeps an archive of the binlog does.
const SCRIPT: &str = r#"last=$(ls | grep '^binlog' | tail -1)
exec mariadb-binlog --no-defaults --read-from-remote-server --raw --stop-never --host=127.0.0.1 --user=root --port="$1" "${last:-$2}""#;

impl Copies {
    pub fn start(folder: PathBuf, server: &Server) -> Result<Copies> {
        let first = names(server)?.into_iter().next().context("no file")?;
        let port = server.port().to_string();
        let kept = Kept::start(folder.clone(), &[], &["sh", "-c", SCRIPT, "sh", &port, &first])?;
        Ok(Copies { folder, kept })
    }

    pub fn kill_and_restart(&mut self) -> Result<()> {
        self.kept.kill_and_restart()
    }

    /// Waits until all files are there, byte by byte, and copies them once more from a server that has ended writing.
    pub fn judge(&self, server: &Server, again: &Path) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(300);
        while let Err(error) = same(server, &self.folder) {
            ensure!(Instant::now() < deadline, "mariadb-binlog: {error}");
            std::thread::sleep(Duration::from_millis(200));
        }
        fs::create_dir_all(again)?;
        let first = names(server)?.into_iter().next().context("no file")?;
        let (port, into) = (format!("--port={}", server.port()), format!("--result-file={}/", again.display()));
        let fixed =
            ["--no-defaults", "--to-last-log", "--read-from-remote-server", "--raw", "--host=127.0.0.1", "--user=root"];
        tool("mariadb-binlog", fixed.iter().copied().chain([port.as_str(), into.as_str(), first.as_str()]))?
            .success()?;
        same(server, again)
    }
}

fn names(server: &Server) -> Result<Vec<String>> {
    Ok(server.connect()?.query_map("SHOW BINARY LOGS", |(name, _, _): (String, u64, String)| name)?)
}

/// The copies are the files, but for the mark of a file in use.
fn same(server: &Server, folder: &Path) -> Result<()> {
    let (last, end) = binlog_end(&mut server.connect()?)?;
    for name in names(server)? {
        let mut original = fs::read(server.datadir().join(&name))?;
        if name == last {
            original.truncate(end as usize);
        }
        let mut copy = fs::read(folder.join(&name)).with_context(|| name.clone())?;
        for bytes in [&mut original, &mut copy] {
            if let Some(flags) = bytes.get_mut(4 + 17) {
                *flags &= !1;
            }
        }
        ensure!(copy == original, "the copy of {name} differs: {} bytes of {}", copy.len(), original.len());
    }
    Ok(())
}
