//! Bytes flipped in every region of every log: found and named by `cohort check` or at the start, never
//! skipped in silence; and what an operator can do then.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::rng::{Rng, seed};
use cohort_blackbox::{Launch, Server, server};
use cohort_txn::CommitProtocol;
use mysql::prelude::Queryable;
use serde_json::Value;

const ROWS: u64 = 60;

fn cohort(arguments: &[&str]) -> Result<Output> {
    let output = Command::new(server::binary()?).args(arguments).env("RUST_BACKTRACE", "1").output()?;
    let complaints = String::from_utf8_lossy(&output.stderr);
    ensure!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?} ended with {}:\n{complaints}", output.status);
    Ok(output)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// What `cohort check` says against a data directory; empty when it is sound.
fn faults(datadir: &Path) -> Result<String> {
    let output = cohort(&["check", &shown(datadir)])?;
    let faults = String::from_utf8(output.stderr)?;
    ensure!(output.status.success() == faults.is_empty(), "status {} with faults '{faults}'", output.status);
    Ok(faults)
}

fn launch(folder: &Path) -> Launch {
    Launch::new(folder.join("data"))
        .option("--journal-segment-size=1M")
        .option("--max-binlog-size=4096")
        .option("--write-buffer-size=1M")
}

/// A server with a table of [`ROWS`] rows, one transaction each, and several binlog files.
fn filled(folder: &Path) -> Result<Server> {
    let server = launch(folder).start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("USE d")?;
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(40), KEY (name))")?;
    for id in 0..ROWS {
        conn.query_drop(format!("INSERT INTO t VALUES ({id}, 'name {id}')"))?;
        if id % 25 == 24 {
            conn.query_drop("FLUSH BINARY LOGS")?;
        }
    }
    Ok(server)
}

/// The bytes of every file below `dir`.
fn contents(dir: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(contents(&path)?);
        } else {
            files.insert(path.clone(), fs::read(&path)?);
        }
    }
    Ok(files)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to)?;
        } else {
            fs::copy(&path, &to)?;
        }
    }
    Ok(())
}

fn flip(path: &Path, offset: u64, mask: u8) -> Result<()> {
    let mut bytes = fs::read(path)?;
    let byte = usize::try_from(offset)?;
    *bytes.get_mut(byte).with_context(|| format!("{} has no byte {offset}", path.display()))? ^= mask;
    Ok(fs::write(path, bytes)?)
}

/// A byte of a log to flip, and where the thing it belongs to begins.
#[derive(Debug, Clone)]
struct Target {
    path: PathBuf,
    offset: u64,
    begins: u64,
}

/// Bytes at the head, in the body and at the tail of `[begins, ends)`.
fn sample(rng: &mut Rng, path: &Path, begins: u64, head: u64, ends: u64) -> Vec<Target> {
    let target = |offset| Target { path: path.to_owned(), offset, begins };
    let tail = (ends - 4).max(begins);
    vec![
        target(begins + rng.below(head)),
        target(begins + rng.below(ends - begins)),
        target(tail + rng.below(ends - tail)),
    ]
}

fn json_lines(arguments: &[&str]) -> Result<Vec<Value>> {
    let output = cohort(arguments)?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn number(value: &Value, name: &str) -> Result<u64> {
    value[name].as_u64().with_context(|| format!("no {name} in {value}"))
}

/// The journal's records from the checkpoint on.
fn records(datadir: &Path) -> Result<Vec<Value>> {
    let lines = json_lines(&["journal", "dump", &shown(datadir), "--json"])?;
    Ok(lines.into_iter().filter(|line| line["lsn"].is_u64()).collect())
}

fn record_targets(rng: &mut Rng, datadir: &Path, record: &Value) -> Result<Vec<Target>> {
    let path = datadir.join("journal").join(record["segment"].as_str().context("no segment")?);
    let begins = number(record, "offset")?;
    Ok(sample(rng, &path, begins, 72, begins + 72 + number(record, "payload_bytes")?))
}

fn binlog_files(datadir: &Path) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(datadir)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending.len() == 6 && ending != "format"));
    paths.sort();
    Ok(paths)
}

/// Bytes of the files that are there in any state: segment header, checkpoint, binlog files, index.
fn other_targets(rng: &mut Rng, datadir: &Path) -> Result<Vec<Target>> {
    let mut targets = sample(rng, &datadir.join("journal/journal.000001"), 0, 48, 48);
    for name in ["journal/checkpoint", "binlog.index"] {
        let path = datadir.join(name);
        let ends = fs::metadata(&path)?.len();
        targets.extend(sample(rng, &path, 0, ends.min(48), ends));
    }
    // Of two lines of the index that do not follow each other, the second one is named.
    for target in targets.iter_mut().filter(|target| target.path.ends_with("binlog.index")) {
        target.begins = target.offset + "./binlog.000001\n".len() as u64;
    }
    for path in binlog_files(datadir)? {
        let ends = fs::metadata(&path)?.len();
        targets.extend(sample(rng, &path, 0, 126, ends));
        targets.extend(sample(rng, &path, 0, ends, ends));
    }
    Ok(targets)
}

/// Says whether the damage is reported with its file, and with an offset not after it.
fn names(said: &str, target: &Target) -> bool {
    let Some(place) = said.find(&shown(&target.path)) else { return false };
    let after = &said[place..];
    let Some(at) = after.find("at byte ") else { return false };
    let digits: String = after[at + 8..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u64>().is_ok_and(|offset| offset <= target.offset.max(target.begins))
}

/// Whether the damage looks like what a crash leaves, which the next start makes good from the journal: a byte of a
/// binlog file that is zero as if it had never been written, or a last line of the index without its end.
fn looks_like_a_crash(target: &Target) -> Result<bool> {
    let bytes = fs::read(&target.path)?;
    Ok(match target.path.ends_with("binlog.index") {
        true => target.offset + 1 == bytes.len() as u64,
        false => {
            !target.path.components().any(|part| part.as_os_str() == "journal") && bytes[target.offset as usize] == 0
        }
    })
}

/// A mask that is no flip of the in-use mark, which a file may have or not.
fn mask(rng: &mut Rng) -> u8 {
    2 << rng.below(7)
}

#[test]
fn the_tools_tell_what_the_logs_hold_and_change_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = filled(folder.path())?;
    let datadir = server.datadir().to_owned();
    for arguments in [["check", &shown(&datadir)].as_slice(), &["journal", "dump", &shown(&datadir)]] {
        let output = cohort(arguments)?;
        assert!(!output.status.success(), "{arguments:?} of a running server");
        assert!(String::from_utf8_lossy(&output.stderr).contains("in use by another process"));
    }
    let mut server = Some(server);
    for clean in [false, true] {
        match clean {
            false => drop(server.take().context("killed once")?.kill()?),
            true => drop(launch(folder.path()).start()?.stop()?),
        }
        let before = contents(&datadir)?;
        let report = folder.path().join("check.json");
        let output = cohort(&["check", &shown(&datadir), "--json", &shown(&report)])?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_str(&fs::read_to_string(&report)?)?;
        assert_eq!((&report["sound"], &report["journal"]["closed"]), (&true.into(), &clean.into()));
        if clean {
            assert_eq!(report["notes"], serde_json::json!([]));
            assert_eq!(report["tables"][0]["rows"], ROWS);
            assert_eq!(report["tables"][0]["indexes"][0]["entries"], ROWS);
            assert_eq!(number(&report["binlog"], "transactions")?, ROWS + 2);
        }
        let files: Vec<String> = binlog_files(&datadir)?.iter().map(|path| shown(path)).collect();
        let mut dump = vec!["binlog", "dump", "--json"];
        dump.extend(files.iter().map(String::as_str));
        let events = json_lines(&dump)?;
        let rows = events.iter().filter(|event| event["type"] == "Write_rows" && event["table"] == "d.t");
        assert_eq!(rows.map(|event| number(event, "rows")).sum::<Result<u64>>()?, ROWS);
        let members = json_lines(&["journal", "dump", &shown(&datadir), "--json", "--all"])?;
        let members = members.iter().filter_map(|record| record["transactions"].as_array());
        assert_eq!(members.flatten().filter(|member| member["gtid"].is_string()).count() as u64, ROWS + 2);
        let after = contents(&datadir)?;
        let mut paths = before.keys().chain(after.keys());
        assert_eq!(paths.find(|path| before.get(*path) != after.get(*path)), None, "a tool changed this file");
    }
    Ok(())
}

#[test]
fn a_flip_in_a_stopped_directory_is_found_by_check() -> Result<()> {
    let mut rng = Rng::new(seed());
    let folder = tempfile::tempdir()?;
    let datadir = filled(folder.path())?.stop()?.datadir().to_owned();
    assert_eq!(faults(&datadir)?, "");
    for target in other_targets(&mut rng, &datadir)? {
        let mask = mask(&mut rng);
        flip(&target.path, target.offset, mask)?;
        let found = faults(&datadir)?;
        assert!(names(&found, &target), "{target:?} with mask {mask:#x}: '{found}'");
        flip(&target.path, target.offset, mask)?;
    }
    assert_eq!(faults(&datadir)?, "");
    Ok(())
}

#[test]
fn a_flip_in_a_directory_after_a_crash_is_found_by_check_and_costs_no_row_in_silence() -> Result<()> {
    let mut rng = Rng::new(seed());
    let folder = tempfile::tempdir()?;
    let datadir = filled(folder.path())?.kill()?.datadir().to_owned();
    assert_eq!(faults(&datadir)?, "");
    let records = records(&datadir)?;
    let mut targets = other_targets(&mut rng, &datadir)?;
    let index = datadir.join("binlog.index");
    let end = fs::metadata(&index)?.len() - 1;
    targets.push(Target { path: index, offset: end, begins: end });
    targets.extend(record_targets(&mut rng, &datadir, records.last().context("no records")?)?);
    for _ in 0..4 {
        let record = &records[rng.below(records.len() as u64) as usize];
        targets.extend(record_targets(&mut rng, &datadir, record)?);
    }
    for (round, target) in targets.iter().enumerate() {
        let mask = mask(&mut rng);
        flip(&target.path, target.offset, mask)?;
        let context = format!("{target:?} with mask {mask:#x}");
        let found = faults(&datadir)?;
        let again = folder.path().join(format!("start{round}"));
        copy(&datadir, &again.join("data"))?;
        let start = launch(&again);
        let named = names(&found, target);
        assert!(named || found.is_empty() && looks_like_a_crash(target)?, "{context}: '{found}'");
        match named && (found.contains("journal/") || found.contains("another one than in the journal")) {
            true => {
                let refusal = start.start_refused().with_context(|| context.clone())?;
                let copied =
                    Target { path: again.join("data").join(target.path.strip_prefix(&datadir)?), ..target.clone() };
                assert!(names(&refusal.log, &copied), "{context}: '{}'", refusal.log);
            }
            // What the journal still has is written again: nothing may be missing then. Or it stops, as check said.
            false => match start.start() {
                Ok(server) => {
                    let count: Option<u64> = server.connect()?.query_first("SELECT COUNT(*) FROM d.t")?;
                    assert_eq!(count, Some(ROWS), "{context}: '{found}'");
                    let datadir = server.stop()?.datadir().to_owned();
                    assert_eq!(faults(&datadir)?, "", "{context}");
                }
                Err(error) => assert!(named && format!("{error:#}").contains("[Error]"), "{context}: {error:#}"),
            },
        }
        fs::remove_dir_all(&again)?;
        flip(&target.path, target.offset, mask)?;
    }
    assert_eq!(faults(&datadir)?, "");
    Ok(())
}

#[test]
fn the_way_out_that_the_message_names_works() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let datadir = filled(folder.path())?.kill()?.datadir().to_owned();
    let records = records(&datadir)?;
    // The row of this record and all after it are given up.
    let kept = ROWS - 10;
    let gtid = format!(":{}", kept + 3);
    let is_it = |record: &&Value| record["transactions"][0]["gtid"].as_str().is_some_and(|id| id.ends_with(&gtid));
    let record = records.iter().find(is_it).context("no such transaction")?;
    let (path, offset) = (datadir.join("journal").join(record["segment"].as_str().unwrap()), number(record, "offset")?);
    flip(&path, offset + 80, 4)?;
    let lsn = number(record, "lsn")?;
    let launch = launch(folder.path());
    for start in [launch.clone(), launch.clone().option(format!("--journal-cut-at={}", lsn + 4096))] {
        let refusal = start.start_refused()?;
        for said in [format!("{} is damaged at byte {offset}", path.display()), format!("--journal-cut-at={lsn}")] {
            assert!(refusal.log.contains(&said), "no '{said}' in: {}", refusal.log);
        }
    }
    let server = launch.option(format!("--journal-cut-at={lsn}")).start()?;
    assert!(server.log()?.contains("as the operator asked"), "{}", server.log()?);
    let rows: Option<(u64, u64)> = server.connect()?.query_first("SELECT COUNT(*), MAX(id) FROM d.t")?;
    assert_eq!(rows, Some((kept, kept - 1)));
    let report: Value = serde_json::from_str(&fs::read_to_string(datadir.join("recovery.json"))?)?;
    assert_eq!(report["cut_by_operator"], true);
    assert!(number(&report, "bytes_cut")? > 0 && number(&report, "binlog_bytes_cut")? > 0, "{report}");
    server.connect()?.query_drop("INSERT INTO d.t VALUES (1000, 'after the cut')")?;
    // The option may be left in place: it counts at that damage only.
    let server = server.kill_and_restart()?;
    assert_eq!(server.connect()?.query_first("SELECT COUNT(*) FROM d.t")?, Some(kept + 1));
    server.stop()?;
    assert_eq!(faults(&datadir)?, "");
    Ok(())
}

#[test]
fn a_damaged_binlog_file_that_is_cut_is_written_again_from_the_journal() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let datadir = filled(folder.path())?.kill()?.datadir().to_owned();
    for path in binlog_files(&datadir)? {
        let whole = fs::read(&path)?;
        // The file that was begun last may have no transaction yet: a start writes its header again and says nothing.
        if whole.len() < 300 {
            continue;
        }
        let offset = whole.len() as u64 / 2;
        flip(&path, offset, 0x80)?;
        let refusal = launch(folder.path()).start_refused()?;
        let said = format!("{} is damaged at byte {offset}", path.display());
        assert!(refusal.log.contains(&said), "no '{said}' in: {}", refusal.log);
        fs::write(&path, &whole[..offset as usize])?;
    }
    let server = launch(folder.path()).start()?;
    assert_eq!(server.connect()?.query_first("SELECT COUNT(*) FROM d.t")?, Some(ROWS));
    server.stop()?;
    assert_eq!(faults(&datadir)?, "");
    Ok(())
}

/// Every classic protocol that has a binlog.
fn classic() -> impl Iterator<Item = CommitProtocol> {
    let classic = |protocol: &CommitProtocol| protocol.has_binlog() && *protocol != CommitProtocol::Journal;
    CommitProtocol::ALL.into_iter().filter(classic)
}

/// A server under a classic protocol that was killed with some rows in its one binlog file; where that ended.
fn killed(launch: &Launch) -> Result<(PathBuf, u64)> {
    let server = launch.start()?;
    let mut conn = server.connect()?;
    conn.query_drop("CREATE DATABASE d")?;
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, name VARCHAR(40))")?;
    for id in 0..20 {
        conn.query_drop(format!("INSERT INTO d.t VALUES ({id}, 'name {id}')"))?;
    }
    let status: Option<mysql::Row> = conn.query_first("SHOW MASTER STATUS")?;
    let (name, end): (String, u64) =
        status.and_then(|row| Some((row.get(0)?, row.get(1)?))).context("a place in the binlog")?;
    Ok((server.kill()?.datadir().join(name), end))
}

#[test]
fn what_a_classic_protocol_had_in_its_binlog_does_not_rot_unseen() -> Result<()> {
    let mut rng = Rng::new(seed());
    for protocol in classic() {
        let folder = tempfile::tempdir()?;
        let datadir = folder.path().join("data");
        let launch = Launch::new(&datadir).protocol(protocol);
        let (path, end) = killed(&launch)?;
        assert_eq!(faults(&datadir)?, "", "{protocol}");
        // The last transactions may be vouched for by nothing yet; those before are.
        for begins in [126, end / 2] {
            let offset = begins + rng.below(end / 2 - 126);
            let target = Target { path: path.clone(), offset, begins: offset };
            let mask = mask(&mut rng);
            flip(&path, offset, mask)?;
            let context = format!("{protocol}: {target:?} of {end} with mask {mask:#x}");
            let found = faults(&datadir)?;
            let opened = match begins == 126 || !found.is_empty() {
                true => Err(launch.start_refused().with_context(|| context.clone())?.log),
                false => Ok(launch.start()?.log()?),
            };
            match opened {
                Err(refusal) => {
                    assert!(names(&found, &target), "{context}: '{found}'");
                    assert!(names(&refusal, &target) && refusal.contains("--binlog-cut-at="), "{context}: '{refusal}'");
                }
                Ok(log) => assert!(log.contains("binlog bytes cut"), "{context}: '{log}'"),
            }
            if found.is_empty() {
                break;
            }
            flip(&path, offset, mask)?;
        }
    }
    Ok(())
}

#[test]
fn a_classic_protocol_s_binlog_is_cut_where_the_operator_says() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let datadir = folder.path().join("data");
    let launch = Launch::new(&datadir).option("--commit-protocol=mysql57");
    let (path, end) = killed(&launch)?;
    flip(&path, end / 2, 4)?;
    let refusal = launch.start_refused()?;
    let place = refusal.log.split("--binlog-cut-at=").nth(1).and_then(|said| said.split(' ').next());
    let place = place.with_context(|| format!("no way out: {}", refusal.log))?;
    assert!(place.starts_with("binlog.000001:"), "{place}");
    let nonsense = launch.clone().option("--binlog-cut-at=12").start_refused()?;
    assert!(nonsense.log.contains("invalid binlog position '12'"), "{}", nonsense.log);
    let elsewhere = launch.clone().option(format!("--binlog-cut-at={place}0")).start_refused()?;
    assert!(elsewhere.log.contains(place), "{}", elsewhere.log);
    let launch = launch.option(format!("--binlog-cut-at={place}"));
    let server = launch.start()?;
    let log = server.log()?;
    assert!(log.contains("as the operator asked") && log.contains("DIVERGED"), "{log}");
    let report: Value = serde_json::from_str(&fs::read_to_string(datadir.join("recovery.json"))?)?;
    assert_eq!(report["cut_by_operator"], true, "{report}");
    server.connect()?.query_drop("INSERT INTO d.t VALUES (1000, 'after the cut')")?;
    // The option may be left in place: it counts at that damage only.
    let server = server.kill_and_restart()?;
    let id: Option<u64> = server.connect()?.query_first("SELECT MAX(id) FROM d.t")?;
    assert_eq!(id, Some(1000));
    server.stop()?;
    assert_eq!(faults(&datadir)?, "");
    Ok(())
}

/// The file of RocksDB's own log.
fn rocksdb_log(datadir: &Path) -> Result<PathBuf> {
    let files = contents(&datadir.join("rocksdb"))?.into_keys();
    files.filter(|path| path.extension().is_some_and(|name| name == "log")).max().context("a log of RocksDB's")
}

/// It is cut like the end of a write that a crash tore. What prepared transactions lose that way, the binlog has.
#[test]
fn rot_in_an_engine_s_own_log_is_reported() -> Result<()> {
    let mut rng = Rng::new(seed());
    for protocol in classic() {
        let folder = tempfile::tempdir()?;
        let datadir = folder.path().join("data");
        let launch = Launch::new(&datadir).protocol(protocol);
        killed(&launch)?;
        let path = rocksdb_log(&datadir)?;
        // Among the rows: after what the table needs, and not in the last of them.
        let bytes = fs::read(&path)?;
        let place = |row: &[u8]| bytes.windows(row.len()).position(|here| here == row).context("a row in the log");
        let (from, to) = (place(b"name 5")? as u64, place(b"name 15")? as u64);
        let offset = from + rng.below(to - from);
        flip(&path, offset, mask(&mut rng))?;
        let server = launch.start()?;
        let rows: u64 = server.connect()?.query_first("SELECT COUNT(*) FROM d.t")?.context("a count")?;
        let context = format!("{protocol}: a flip at {offset}, {rows} rows are left: {}", server.log()?);
        assert!(rows < 20, "{context}");
        assert!(server.log()?.contains("DIVERGED"), "{context}");
        let reported = format!("[Warning] {}", path.display());
        assert!(server.log()?.contains(&reported) && server.log()?.contains("are cut off the log"), "{context}");
        let report: Value = serde_json::from_str(&fs::read_to_string(datadir.join("recovery.json"))?)?;
        assert!(
            report["divergences"][0].as_str().is_some_and(|reported| reported.contains("that no engine has")),
            "{report}"
        );
    }
    Ok(())
}

/// Where it looks like the end of a write that a crash tore, it is cut; the journal's checkpoint knows what that took.
#[test]
fn an_engine_that_lost_what_a_checkpoint_knows_stops_the_start() -> Result<()> {
    let folder = tempfile::tempdir()?;
    filled(folder.path())?.stop()?;
    let datadir = folder.path().join("data");
    let rocksdb = datadir.join("rocksdb");
    let away = folder.path().join("away");
    fs::rename(&rocksdb, &away)?;
    let refused = launch(folder.path()).start_refused()?;
    assert!(refused.log.contains("RocksDB holds changes up to lsn 0 only"), "{}", refused.log);
    fs::remove_dir_all(&rocksdb)?;
    copy(&away, &rocksdb)?;
    assert_eq!(faults(&datadir)?, "");

    let manifest = rocksdb.join(fs::read_to_string(rocksdb.join("CURRENT"))?.trim_end());
    let bytes = fs::read(&manifest)?;
    // After the record of the last flush there is a short one, which names no file.
    fs::write(&manifest, &bytes[..bytes.len() - 40])?;
    let found = faults(&datadir)?;
    assert!(found.contains("RocksDB holds changes up to lsn"), "{found}");
    let refused = launch(folder.path()).start_refused()?;
    for said in [format!("[Warning] {}", manifest.display()), "RocksDB holds changes up to lsn".to_owned()] {
        assert!(refused.log.contains(&said), "no '{said}' in: {}", refused.log);
    }
    fs::remove_dir_all(&rocksdb)?;
    copy(&away, &rocksdb)?;
    let server = launch(folder.path()).start()?;
    assert_eq!(server.connect()?.query_first("SELECT COUNT(*) FROM d.t")?, Some(ROWS));
    Ok(())
}

#[test]
fn no_bytes_make_a_tool_panic() -> Result<()> {
    let mut rng = Rng::new(seed());
    let folder = tempfile::tempdir()?;
    let datadir = filled(folder.path())?.kill()?.datadir().to_owned();
    let whole = contents(&datadir)?;
    let names: Vec<&PathBuf> = whole.iter().filter(|(_, bytes)| !bytes.is_empty()).map(|(path, _)| path).collect();
    for _ in 0..60 {
        let path = names[rng.below(names.len() as u64) as usize];
        if path.ends_with("cohort.lock") {
            continue;
        }
        let mut bytes = whole[path].clone();
        match rng.below(3) {
            0 => bytes.truncate(rng.below(bytes.len() as u64) as usize),
            _ => {
                let used = bytes.len().min(200_000) as u64;
                for _ in 0..1 + rng.below(20) {
                    bytes[rng.below(used) as usize] = rng.bits() as u8;
                }
            }
        }
        fs::write(path, bytes)?;
        // `cohort` itself fails on any status but 0 and 1.
        cohort(&["check", &shown(&datadir)])?;
        cohort(&["journal", "dump", &shown(&datadir), "--all"])?;
        let files: Vec<String> = binlog_files(&datadir)?.iter().map(|path| shown(path)).collect();
        for file in files {
            cohort(&["binlog", "dump", &file])?;
        }
        fs::write(path, &whole[path])?;
    }
    Ok(())
}
