//! Debezium, embedded and in Kafka Connect, with the settings and commands of `docs/change-streams.md`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cohort_blackbox::{Server, free_port, tool};
use mysql::prelude::Queryable;
use serde_json::{Map, Value};

use crate::program::{Kept, Program};

/// The blocks of the page in this language.
fn blocks(language: &str) -> Result<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/change-streams.md");
    let page = fs::read_to_string(page)?;
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1);
    blocks.map(|block| Ok(block.split_once("```").context("a block without an end")?.0.to_owned())).collect()
}

/// Creates the account of the page, which replicas without accounts cannot take.
pub fn grant(server: &Server) -> Result<()> {
    Ok(server.connect()?.query_drop(format!("SET sql_log_bin = 0; {}", blocks("sql")?.concat()))?)
}

/// What is changed on the page: its ports.
struct Ports(Vec<(&'static str, u16)>);

impl Ports {
    fn of(server: &Server) -> Result<Ports> {
        let mut ports = vec![(":9092", free_port()?), (":9093", free_port()?), (":8083", free_port()?)];
        // The connector's, as text.
        ports.push(("\"3306", server.port()));
        Ok(Ports(ports))
    }

    fn set(&self, block: &str) -> String {
        self.0
            .iter()
            .fold(block.to_owned(), |block, (there, here)| block.replace(there, &format!("{}{here}", &there[..1])))
    }
}

/// The settings of the connector, and that the tests' own reader needs to know which bytes are of a BINARY column.
fn connector(ports: &Ports) -> Result<Map<String, Value>> {
    let mut settings: Map<String, Value> = serde_json::from_str(&ports.set(&blocks("json")?.concat()))?;
    settings.insert("column.propagate.source.type".to_owned(), ".*".into());
    Ok(settings)
}

fn classpath(home: &Path) -> String {
    format!("{0}/classes:{0}/jars/*", home.display())
}

/// The embedded engine, with files of its own for its place and its history.
pub fn engine(home: &Path, folder: PathBuf, server: &Server) -> Result<Program> {
    fs::create_dir_all(&folder)?;
    let mut settings = connector(&Ports::of(server)?)?;
    settings.insert("name".to_owned(), "cohort".into());
    // Server ids of readers differ.
    settings.insert("database.server.id".to_owned(), "5401".into());
    let line = |(name, value): (&String, &Value)| format!("{name}={}\n", value.as_str().unwrap_or_default());
    fs::write(folder.join("connector.properties"), settings.iter().map(line).collect::<String>())?;
    let command =
        ["java", "-Xmx1g", "-cp", &classpath(home), "DebeziumFollower", "engine", "connector.properties", "."];
    let offsets = folder.join("offsets");
    let settled = move || Ok(is_past_snapshot(&String::from_utf8_lossy(&fs::read(&offsets)?)));
    let parts = vec![Kept::start(folder, &[], &command)?];
    Ok(Program { settled: Box::new(settled), ..Program::new("Debezium's engine", parts) })
}

/// A broker, Kafka Connect with Debezium, and a consumer of all topics.
pub fn kafka(home: &Path, folder: &Path, server: &Server) -> Result<Program> {
    fs::create_dir_all(folder)?;
    let (jars, ports) = (home.join("jars").display().to_string(), Ports::of(server)?);
    for block in blocks("properties")? {
        let name = block.lines().next().and_then(|line| line.strip_prefix("# ")).context("a name")?;
        fs::write(folder.join(name), ports.set(&block))?;
    }
    fs::write(folder.join("connector.json"), serde_json::to_string(&connector(&ports)?)?)?;
    let scripts: Vec<String> = blocks("sh")?.iter().map(|block| ports.set(block)).collect();
    let [format, start, connect, create, place, restart] =
        <[String; 6]>::try_from(scripts).ok().context("six blocks of commands")?;
    let inside = |script: &str| format!("cd '{}'; export KAFKA='{jars}'\n{script}", folder.display());
    tool("sh", ["-euc", &inside(&format)])?.success()?;
    let keep = |name: &str, script: &str| Kept::start(folder.join(name), &[], &["sh", "-euc", &inside(script)]);
    // Whoever watches the worker goes with it.
    let watched = format!("while sleep 10 && kill -0 $$; do {{\n{restart}}} >/dev/null || :; done &\n{connect}");
    let (broker, connect) = (keep("broker", &start)?, keep("connect", &watched)?);
    tool("sh", ["-euc", &inside(&create)])?.success()?;
    let (address, classes) = (ports.set("127.0.0.1:9092"), classpath(home));
    let follow = ["java", "-Xmx1g", "-cp", &classes, "DebeziumFollower", "topics", &address, "."];
    let parts = vec![broker, connect, Kept::start(folder.join("topics"), &[], &follow)?];
    let settled = move || Ok(is_past_snapshot(&tool("sh", ["-euc", &place])?.success()?.text()));
    Ok(Program { by_table: true, settled: Box::new(settled), ..Program::new("Kafka", parts) })
}

/// Whether a connector that is started at this place goes on in the binlog: it takes a snapshot again that was not complete.
fn is_past_snapshot(place: &str) -> bool {
    place.contains("\"pos\"") && !place.contains("\"snapshot\"")
}
