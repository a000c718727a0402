//! What TLS costs: the same load over plain TCP and over TLS, by turns, on our server alone.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, Server};
use mysql::prelude::Queryable;
use serde::{Deserialize, Serialize};

use crate::medians::{Medians, median};
use crate::plan::WORKLOADS;
use crate::progress::Progress;
use crate::schedule::{Effort, Run};
use crate::sysbench::{Bench, Way};

/// What is run, with how many clients. The last one connects anew for each of its statements.
const CASES: [(&str, u32); 4] = [("point_select", 8), ("read_only", 8), ("update_non_index", 32), ("connect", 8)];

/// A load and how it went, either way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Encryption {
    pub workload: String,
    pub clients: u32,
    pub plain: Medians,
    pub tls: Medians,
    /// Median over the rounds of the throughput with TLS by that without.
    pub ratio: f64,
}

/// Runs those loads whose name contains `filter`.
pub fn measure(options: &[String], filter: Option<&str>, effort: &Effort) -> Result<Vec<Encryption>> {
    let cases: Vec<_> = CASES.into_iter().filter(|(name, _)| filter.is_none_or(|part| name.contains(part))).collect();
    if cases.is_empty() {
        return Ok(Vec::new());
    }
    let folder = tempfile::tempdir()?;
    let launch = Launch::new(folder.path().join("cohort")).option("--sync-binlog=1");
    let server = options.iter().fold(launch, |launch, option| launch.option(option)).start()?;
    server.connect()?.query_drop("CREATE DATABASE sbtest")?;
    let script = folder.path().join("connect.lua");
    fs::write(&script, include_str!("connect.lua"))?;
    client_files(&server, folder.path())?;
    let plain = Way::Tcp(server.port());
    let tls = Way::Tls(server.port(), folder.path());
    bench("update_non_index", plain, &script, effort)?.prepare()?;

    let mut rounds = vec![Vec::new(); cases.len()];
    let mut progress = Progress::new(cases.len() as u64 * u64::from(effort.rounds) * 2);
    for round in 0..effort.rounds {
        for (&(name, clients), pairs) in cases.iter().zip(&mut rounds) {
            let mut run = |way: Way<'_>| -> Result<Run> {
                let what = format!("round {} {name} {clients} clients {}", round + 1, title(way));
                progress.now(&what);
                let run = measured(&server, &bench(name, way, &script, effort)?, clients, effort.seconds)?;
                progress.step(&format!("{what}: {:.0} tps, {:.0} µs CPU", run.figures.throughput, run.server_us));
                Ok(run)
            };
            pairs.push(match round % 2 {
                0 => (run(plain)?, run(tls)?),
                _ => {
                    let encrypted = run(tls)?;
                    (run(plain)?, encrypted)
                }
            });
        }
    }
    progress.finish();
    let (_, handshakes): (String, u64) =
        server.connect()?.query_first("SHOW STATUS LIKE 'Ssl_finished_accepts'")?.context("a status")?;
    ensure!(handshakes >= u64::from(cases[0].1 * effort.rounds), "only {handshakes} connections were encrypted");
    server.stop()?;
    Ok(cases.iter().zip(rounds).map(|(case, rounds)| result(*case, &rounds)).collect())
}

fn title(way: Way<'_>) -> &'static str {
    if matches!(way, Way::Tls(..)) { "TLS" } else { "plain" }
}

/// The files that sysbench looks for: a certificate of the server's issuer to show, and that issuer to accept.
fn client_files(server: &Server, folder: &Path) -> Result<()> {
    let file = |name: &str| fs::read_to_string(server.datadir().join(name)).with_context(|| name.to_owned());
    let mut issuer = rcgen::CertificateParams::default();
    issuer.distinguished_name = rcgen::DistinguishedName::new();
    issuer.distinguished_name.push(rcgen::DnType::CommonName, "Cohort auto-generated CA certificate");
    let issuer = rcgen::Issuer::new(issuer, rcgen::KeyPair::from_pem(&file("ca-key.pem")?)?);
    let key = rcgen::KeyPair::generate()?;
    let certificate = rcgen::CertificateParams::default().signed_by(&key, &issuer)?;
    fs::write(folder.join("client-cert.pem"), certificate.pem())?;
    fs::write(folder.join("client-key.pem"), key.serialize_pem())?;
    fs::write(folder.join("cacert.pem"), file("ca.pem")?)?;
    Ok(())
}

fn bench<'a>(name: &str, way: Way<'a>, connect: &'a Path, effort: &Effort) -> Result<Bench<'a>> {
    let workload = WORKLOADS.iter().find(|workload| workload.name == name);
    let script = match workload {
        Some(workload) => workload.script,
        None => connect.to_str().context("a path")?,
    };
    Ok(Bench { way, script, database: "sbtest", engine: "innodb", rows: effort.rows })
}

fn measured(server: &Server, bench: &Bench<'_>, clients: u32, seconds: u32) -> Result<Run> {
    let before = server.usage()?;
    let figures = bench.run(clients, seconds)?;
    let used_us = server.usage()?.cpu_us - before.cpu_us;
    Ok(Run { figures, server_us: used_us as f64 / figures.transactions.max(1) as f64 })
}

fn result((workload, clients): (&str, u32), rounds: &[(Run, Run)]) -> Encryption {
    Encryption {
        workload: workload.to_owned(),
        clients,
        plain: Medians::of(rounds.iter().map(|(plain, _)| plain)),
        tls: Medians::of(rounds.iter().map(|(_, tls)| tls)),
        ratio: median(rounds.iter().map(|(plain, tls)| tls.figures.throughput / plain.figures.throughput)),
    }
}

/// The rows for people.
pub fn table(results: &[Encryption]) -> String {
    let mut text = format!(
        "what TLS costs{:>11}{:>11}{:>11}{:>8}{:>15}{:>15}\n",
        "clients", "plain/s", "TLS/s", "ratio", "server µs/tx", "p99 ms"
    );
    for result in results {
        let Encryption { workload, clients, plain, tls, ratio } = result;
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{workload:<17}{clients:>8}{:>11.0}{:>11.0}{ratio:>8.2}{:>15}{:>15}",
            plain.throughput,
            tls.throughput,
            format!("{:.0} : {:.0}", plain.server_us, tls.server_us),
            format!("{:.1} : {:.1}", plain.p99_ms, tls.p99_ms),
        );
    }
    text
}
