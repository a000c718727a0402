//! The page about commit protocols, from figures that are made up and do not change.

use cohort_bench::history::History;
use cohort_bench::history::claim::claims;
use cohort_bench::history::finding::{Finding, findings};
use cohort_bench::history::page::html;
use cohort_bench::history::plan::{Contestant, Experiment, entrant};

fn history() -> History {
    serde_json::from_str(include_str!("testdata/history.json")).unwrap()
}

fn found(history: &History, experiment: Experiment, what: &str) -> Finding {
    let all = findings(history.outcome(experiment).unwrap());
    let reported: Vec<&str> = all.iter().map(|finding| finding.what.as_str()).collect();
    all.iter()
        .find(|finding| finding.what.contains(what))
        .unwrap_or_else(|| panic!("no {what} in {reported:?}"))
        .clone()
}

#[test]
fn figures_stand_beside_the_published_ones_with_what_explains_them() {
    let history = history();
    let mended = found(&history, Experiment::WriteLoad, "plugin104 against mysql50, 30 clients");
    assert_eq!((mended.published.as_str(), mended.ours.as_str()), ("6.1x", "6.00x (6,000 : 1,000/s)"));
    assert_eq!(mended.remark, "About as published.");

    let syncs = found(&history, Experiment::WriteLoad, "mysql50 to plugin104");
    assert_eq!(syncs.ours, "2.00 → 0.25 (−88 %)");
    let exact = found(&history, Experiment::WriteLoad, "any number of clients");
    assert_eq!(
        (exact.ours.as_str(), exact.remark.as_str()),
        ("2.00 to 2.00 (1.00 to 1.00 without XA)", "As published.")
    );

    let cost = found(&history, Experiment::BinlogCost, "cost of the binlog for mysql50");
    assert_eq!((cost.published.as_str(), cost.ours.as_str()), ("53 %", "53 % (470 : 1,000/s)"));

    let lock = found(&history, Experiment::BinlogCost, "hottest lock");
    assert_eq!(lock.ours, "prepare_commit_mutex 30.00 s in 1,900 waits; the binlog’s 0.03 s in 3");
    assert_eq!(lock.remark, "It is the hottest here too, 1000x that of the binlog.");

    let flat = found(&history, Experiment::GroupCommit, "mysql50: 32 clients against 4");
    assert_eq!((flat.ours.as_str(), flat.remark.as_str()), ("1.10x", "Flat here too."));
    let growth = found(&history, Experiment::GroupCommit, "growth");
    assert_eq!(growth.ours, "mysql57 4.00x, mariadb 4.00x");

    let alike = found(&history, Experiment::GroupCommit, "redb against RocksDB");
    assert!(
        alike.remark.starts_with("Less than published: redb’s file is synced 0.40 times for each transaction"),
        "{alike:?}"
    );
    assert!(alike.remark.contains("redb and its clients keep the processors 30 % busy"), "{alike:?}");
    assert!(alike.remark.contains("some 150 µs"), "{alike:?}");
    let members = found(&history, Experiment::HandOff, "members of a group");
    assert_eq!(members.ours, "4.0 and 1.0");
    assert!(members.remark.starts_with("Where most groups have one member"), "{members:?}");
    let journal = found(&history, Experiment::HandOff, "journal against mariadb");
    assert!(journal.ours.starts_with("1.94x"), "{journal:?}");
}

#[test]
fn what_has_to_be_seen_is_held_against_the_figures() {
    let mut history = history();
    let held = |history: &History, what: &str| {
        let all = claims(history);
        all.into_iter().find(|claim| claim.what.contains(what)).unwrap_or_else(|| panic!("no claim {what}")).held
    };
    assert_eq!(held(&history, "mysql50 is flat"), Some(true));
    assert_eq!(held(&history, "2 engine syncs and 1 of the binlog"), Some(true));
    assert_eq!(held(&history, "without XA 1 engine sync"), None, "nobody counted them");
    assert_eq!(held(&history, "at least 4x mysql50"), Some(true));
    assert_eq!(held(&history, "mysql57 under 0.5"), Some(true));
    assert_eq!(held(&history, "mariadb under 0.5"), Some(false), "0.55 it was");
    assert_eq!(held(&history, "commit flush beats it with, RocksDB"), Some(true));
    assert_eq!(held(&history, "commit flush beats it with, redb"), Some(false));
    assert_eq!(held(&history, "every number of clients: sysbench update_non_index, redb"), Some(true));
    assert_eq!(held(&history, "prepare_commit_mutex"), Some(true));

    let group = history.experiments.iter_mut().find(|outcome| outcome.experiment == Experiment::GroupCommit).unwrap();
    for series in &mut group.series {
        if series.contestant == Contestant::new(entrant::JOURNAL) {
            series.points[1].runs[0].throughput = 7000.0;
        }
        series.locks.reverse();
    }
    assert_eq!(held(&history, "every number of clients: sysbench update_non_index, RocksDB"), Some(false));
    assert_eq!(held(&history, "prepare_commit_mutex"), Some(false));
}

#[test]
fn figures_of_a_busy_machine_are_not_to_be_trusted() {
    let mut history = history();
    let series = history.experiments.iter_mut().flat_map(|outcome| &mut outcome.series);
    for run in series.flat_map(|series| &mut series.points).flat_map(|point| &mut point.runs) {
        run.others = 0.4;
    }
    assert!(html(&history).unwrap().contains("Something else used 40 % of the processors’ time"));
}

#[test]
fn the_page_is_whole_and_needs_nothing_else() {
    let history = history();
    let page = html(&history).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    for tag in ["svg", "ul", "li", "table", "tr", "td", "div", "figure", "details", "dl", "dd", "h2", "p"] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    for foreign in ["<script", "<link", "src=", "url(", "@import"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("MySQL 5.6.24 (sysbench update_non_index): not found in &lt;nowhere&gt;"));
    assert!(page.contains("mariadb commit_flush=OFF, redb") && page.contains("journal, no binlog"));
    assert!(page.contains("<td class=\"text\">prepare_commit_mutex</td>"));
    // Two charts for each of the five pictures of throughput, and for the syncs of our own servers.
    assert!(page.matches("<div class=\"phone\"><svg").count() >= 9, "charts are missing");
    assert!(!page.contains("quiet machine"));
    assert!(!history.lacks_a_rung(), "a peer that is missing is no failure");
}
