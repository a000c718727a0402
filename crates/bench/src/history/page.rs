//! Writes a run of the history as one HTML file that needs nothing else.

use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::chart::thousands;
use crate::history::claim::{self, claims};
use crate::history::finding::findings;
use crate::history::lines::{self, Line, Screen, Stroke, svg};
use crate::history::plan::{Engine, Experiment, Scale};
use crate::history::result::{History, KernelCount, LockUse, Outcome, Point, Series};

/// Share of the processors' time that a quiet machine may use for itself.
const QUIET: f64 = 0.1;

impl History {
    /// Writes `index.html` and `history.json` into `folder`.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        fs::write(folder.join("history.json"), serde_json::to_string_pretty(self)?)?;
        fs::write(folder.join("index.html"), html(self)?)?;
        Ok(())
    }

    /// What a terminal shows: what has to be seen, and who is missing.
    pub fn summary(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for claim in claims(self) {
            let verdict = match claim.held {
                Some(true) => "seen",
                Some(false) => "NOT SEEN",
                None => "not measured",
            };
            lines.push(format!("{verdict:<13} {}  {}", claim.what, claim.measured).trim_end().to_owned());
        }
        lines.extend(self.absent.iter().map(|absent| format!("absent: {}: {}", absent.who(), absent.reason)));
        lines.join("\n")
    }
}

/// The whole page.
pub fn html(history: &History) -> Result<String> {
    let mut page = String::new();
    head(&mut page, history)?;
    for outcome in history.experiments.iter().filter(|outcome| !outcome.series.is_empty()) {
        experiment(&mut page, outcome)?;
    }
    kernel(&mut page, &history.kernel)?;
    locks(&mut page, history)?;
    servers(&mut page, history)?;
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

fn head(page: &mut String, history: &History) -> fmt::Result {
    let machine = &history.machine;
    let day = machine.date.split('T').next().unwrap_or_default();
    page.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<title>Commit protocols, measured side by side</title>\n");
    writeln!(page, "<style>\n{}</style>\n</head>\n<body>", include_str!("page.css"))?;
    page.push_str("<h1>Commit protocols, measured side by side</h1>\n");
    page.push_str(
        "<p>Every protocol by which MySQL and MariaDB have kept their binlog and their engines together, on one \
         server, with one SQL layer and the same engines, next to Cohort’s own, <b>journal</b>, and to the real \
         servers that could be had.</p>\n",
    );
    writeln!(
        page,
        "<p class=\"small\">{}, {} processors, {} GiB, {}; {day}; {}. Within an experiment all servers are up at once and take turns; figures are medians of {} rounds.</p>",
        escaped(&machine.processor),
        machine.processors,
        machine.memory_bytes >> 30,
        escaped(&machine.kernel),
        size(history.scale),
        history.scale.rounds()
    )?;
    if history.scale == Scale::Quick {
        page.push_str("<p class=\"no\">A quick run: it shows that everything works, its figures mean nothing.</p>\n");
    }
    let others = history.others();
    if others > QUIET {
        writeln!(
            page,
            "<p class=\"no\">Something else used {:.0} % of the processors’ time meanwhile: measure again on a quiet \
             machine.</p>",
            others * 100.0
        )?;
    }
    page.push_str("<h2>What has to be seen</h2>\n<ul class=\"claims\">\n");
    for claim in claims(history) {
        let (class, verdict) = match claim.held {
            Some(true) => ("yes", "seen"),
            Some(false) => ("no", "not seen"),
            None => ("small", "not measured"),
        };
        let (what, measured) = (escaped(&claim.what), escaped(&claim.measured));
        writeln!(page, "<li><b class=\"{class}\">{verdict}</b><div>{what}<br><span>{measured}</span></div></li>")?;
    }
    page.push_str("</ul>\n");
    absent(page, history)
}

fn absent(page: &mut String, history: &History) -> fmt::Result {
    if history.absent.is_empty() {
        return Ok(());
    }
    page.push_str("<h3>Who could not take part</h3>\n<ul>\n");
    for absent in &history.absent {
        let place = absent.experiment.map_or("counting at the system call", claim::name);
        let (who, reason) = (escaped(&absent.who()), escaped(&absent.reason));
        writeln!(page, "<li>{who} ({place}): {reason}</li>")?;
    }
    page.push_str("</ul>\n");
    Ok(())
}

fn size(scale: Scale) -> &'static str {
    match scale {
        Scale::Quick => "a quick run",
        Scale::Usual => "shorter runs and smaller tables than what was published",
        Scale::Full => "the published sizes",
    }
}

fn experiment(page: &mut String, outcome: &Outcome) -> Result<()> {
    let (title, text) = heading(outcome.experiment);
    writeln!(page, "<h2>{title}</h2>\n<p>{text} Here a 4 KiB write and its sync take {:.0} µs.</p>", outcome.sync_us)?;
    page.push_str("<ul class=\"findings\">\n");
    for finding in findings(outcome) {
        writeln!(
            page,
            "<li><b>{}</b><dl><dt>published</dt><dd>{}</dd><dt>here</dt><dd>{}</dd></dl>{}</li>",
            escaped(&finding.what),
            escaped(&finding.published),
            escaped(&finding.ours),
            escaped(&finding.remark)
        )?;
    }
    page.push_str("</ul>\n");
    for engine in outcome.engines() {
        let several = outcome.engines().len() > 1;
        let with = |series: &&Series| series.contestant.engine == engine || series.contestant.engine == Engine::InnoDb;
        let series: Vec<&Series> = outcome.series.iter().filter(with).collect();
        let on = if several { format!(", {}", engine.title()) } else { String::new() };
        figure(page, &format!("Throughput{on}"), "transactions per second", &series, |point| Some(point.throughput()))?;
        let syncs = |point: &Point| point.syncs_per_commit(|syncs| syncs.of_commits());
        let counted: Vec<&Series> =
            series.iter().copied().filter(|series| !series.contestant.entrant.is_peer()).collect();
        figure(page, &format!("Syncs of all logs{on}"), "syncs for each transaction", &counted, syncs)?;
    }
    table(page, outcome)?;
    Ok(())
}

/// Title, and what was done by whom; with the source.
fn heading(experiment: Experiment) -> (&'static str, &'static str) {
    match experiment {
        Experiment::WriteLoad => (
            "How group commit was broken, and mended",
            "<code>mysqlslap --auto-generate-sql --auto-generate-sql-load-type=write</code>, binlog on, \
             <code>sync_binlog=0</code>, engine logs flushed at every commit. Published with InnoDB Plugin 1.0.4, \
             2009. MySQL 5.5.9 carries InnoDB 1.1.5, which has that mending.",
        ),
        Experiment::BinlogCost => (
            "What the binlog costs",
            "sysbench <code>oltp_read_write</code> with the binlog on and off (dotted), \
             <code>sync_binlog=0</code>, engine logs flushed at every commit. Published in a study of InnoDB-based \
             replication, 2008.",
        ),
        Experiment::GroupCommit => (
            "Every protocol, both engines",
            "sysbench <code>oltp_update_non_index</code>, rows in memory, <code>sync_binlog=1</code>, engine logs \
             flushed at every commit; dotted without a binlog, which is where tc-mmap is used. Published on the \
             TokuDB wiki, 2015.",
        ),
        Experiment::HandOff => (
            "Who commits for the group",
            "<code>REPLACE INTO t (a,b) VALUES (?,?)</code>, prepared, data on a RAM disk, \
             <code>sync_binlog=1</code>, engine logs flushed at every commit: syncs cost next to nothing and the \
             hand-off between threads shows. Published as “MariaDB thread scheduling, part 2”, 2010.",
        ),
    }
}

fn figure(
    page: &mut String,
    title: &str,
    unit: &str,
    series: &[&Series],
    of: impl Fn(&Point) -> Option<f64>,
) -> Result<()> {
    let line = |series: &&Series| {
        let points: Option<Vec<(u32, f64)>> =
            series.points.iter().map(|point| Some((point.clients, of(point)?))).collect();
        let points = points.filter(|points| !points.is_empty())?;
        Some(Line { contestant: series.contestant, points })
    };
    let drawn: Vec<Line> = series.iter().filter_map(line).collect();
    if drawn.is_empty() {
        return Ok(());
    }
    writeln!(page, "<figure>\n<h3>{title}</h3>")?;
    writeln!(page, "<div class=\"desktop\">{}</div>", svg(&drawn, unit, Screen::Wide)?)?;
    writeln!(page, "<div class=\"phone\">{}</div>", svg(&drawn, unit, Screen::Phone)?)?;
    page.push_str("<ul class=\"key\">");
    for line in &drawn {
        let color = lines::color(line.contestant.entrant);
        let dashes = Stroke::of(line.contestant).dashes();
        let dashes = dashes.map_or_else(String::new, |(dash, gap)| format!(" stroke-dasharray=\"{dash} {gap}\""));
        write!(
            page,
            "<li><svg viewBox=\"0 0 26 10\"><path d=\"M0 5H26\" stroke-width=\"3\" stroke=\"#{:02x}{:02x}{:02x}\"{dashes}/>\
             </svg>{}</li>",
            color.0,
            color.1,
            color.2,
            escaped(&line.contestant.to_string())
        )?;
    }
    page.push_str("</ul>\n</figure>\n");
    Ok(())
}

fn table(page: &mut String, outcome: &Outcome) -> fmt::Result {
    page.push_str("<details><summary>All figures</summary><div class=\"wide-table\"><table>\n<tr><th>protocol</th>");
    page.push_str(
        "<th>clients</th><th>transactions/s</th><th>slowest – fastest</th><th>p99 ms</th><th>server µs each</th>\
         <th>processors busy</th><th>engine syncs each</th><th>binlog</th><th>journal</th></tr>\n",
    );
    for series in &outcome.series {
        for point in &series.points {
            let (low, high) = point.spread();
            write!(
                page,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{} – {}</td><td>{}</td><td>{:.0}</td><td>{:.0} %</td>",
                escaped(&series.contestant.to_string()),
                point.clients,
                thousands(point.throughput()),
                thousands(low),
                thousands(high),
                known(point.p99_ms(), 1),
                point.server_us(),
                point.busy() * 100.0
            )?;
            let syncs = [
                point.syncs_per_commit(|syncs| syncs.engine),
                point.syncs_per_commit(|syncs| syncs.binlog),
                point.syncs_per_commit(|syncs| syncs.journal),
            ];
            for each in syncs {
                write!(page, "<td>{}</td>", known(each, 3))?;
            }
            page.push_str("</tr>\n");
        }
    }
    page.push_str("</table></div></details>\n");
    Ok(())
}

fn kernel(page: &mut String, counts: &[KernelCount]) -> fmt::Result {
    if counts.is_empty() {
        return Ok(());
    }
    page.push_str(
        "<h2>Syncs of a commit, as the kernel was asked for them</h2>\n<p>sysbench \
         <code>oltp_update_non_index</code>, <code>sync_binlog=1</code>, engine logs flushed at every commit, under \
         strace in runs of their own. What is synced besides the logs (data files written back, indexes of files) \
         is in the last column.</p>\n<div class=\"wide-table\"><table>\n<tr><th>protocol</th><th>clients</th>\
         <th>commits</th><th>engine</th><th>binlog</th><th>coordinator</th><th>journal</th><th>all logs</th>\
         <th>other</th></tr>\n",
    );
    for count in counts {
        let contestant = escaped(&count.contestant.to_string());
        write!(
            page,
            "<tr><td>{contestant}</td><td>{}</td><td>{}</td>",
            count.clients,
            thousands(count.commits as f64)
        )?;
        let logs = [count.engine, count.binlog, count.coordinator, count.journal, count.logs(), count.other];
        for syncs in logs {
            write!(page, "<td>{}</td>", known((syncs > 0).then(|| count.per_commit(syncs)), 3))?;
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
    Ok(())
}

fn locks(page: &mut String, history: &History) -> fmt::Result {
    let Some(outcome) = history.outcome(Experiment::GroupCommit) else {
        return Ok(());
    };
    let reported: Vec<&Series> = outcome.series.iter().filter(|series| !series.locks.is_empty()).collect();
    if reported.is_empty() {
        return Ok(());
    }
    page.push_str(
        "<h2>Locks of the commit path</h2>\n<p>The hottest lock of every protocol by time waited for it, over all \
         runs of sysbench <code>oltp_update_non_index</code> above.</p>\n",
    );
    lock_table(
        page,
        reported.iter().filter_map(|series| Some((series.contestant.to_string(), series.locks.first()?))),
    )?;
    page.push_str("<details><summary>All locks</summary>\n");
    let all = reported.iter().flat_map(|series| {
        let name = series.contestant.to_string();
        series.locks.iter().map(move |lock| (name.clone(), lock))
    });
    lock_table(page, all)?;
    page.push_str("</details>\n");
    Ok(())
}

fn lock_table<'a>(page: &mut String, locks: impl Iterator<Item = (String, &'a LockUse)>) -> fmt::Result {
    page.push_str(
        "<div class=\"wide-table\"><table>\n<tr><th>protocol</th><th class=\"text\">lock</th>\
         <th class=\"text\">caller</th><th>taken</th><th>waits</th><th>mean wait µs</th><th>longest</th>\
         <th>mean hold µs</th><th>longest</th></tr>\n",
    );
    for (name, lock) in locks {
        writeln!(
            page,
            "<tr><td>{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&name),
            escaped(&lock.lock),
            escaped(&lock.caller),
            thousands(lock.count as f64),
            thousands(lock.waits as f64),
            mean_us(lock.wait_ns, lock.waits),
            us(lock.wait_max_ns as f64),
            mean_us(lock.hold_ns, lock.count),
            us(lock.hold_max_ns as f64)
        )?;
    }
    page.push_str("</table></div>\n");
    Ok(())
}

fn servers(page: &mut String, history: &History) -> fmt::Result {
    page.push_str("<h2>Servers</h2>\n<ul>\n");
    let mut versions: Vec<(String, &str)> = Vec::new();
    for series in history.experiments.iter().flat_map(|outcome| &outcome.series) {
        let entrant = series.contestant.entrant;
        let name = if entrant.is_peer() { entrant.to_string() } else { "Cohort".to_owned() };
        if !versions.iter().any(|(known, _)| *known == name) {
            versions.push((name, &series.version));
        }
    }
    for (name, version) in versions {
        writeln!(page, "<li>{}: {}</li>", escaped(&name), escaped(version))?;
    }
    writeln!(
        page,
        "</ul>\n<p class=\"small\">{}, {}. The same figures, for programs: <a href=\"history.json\">history.json</a>.</p>",
        escaped(&history.machine.date),
        escaped(&history.machine.command)
    )
}

fn mean_us(total_ns: u64, count: u64) -> String {
    us(total_ns as f64 / count.max(1) as f64)
}

fn us(ns: f64) -> String {
    let us = ns / 1000.0;
    if us < 100.0 { format!("{us:.1}") } else { thousands(us) }
}

fn known(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Text as HTML shows it unchanged.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
