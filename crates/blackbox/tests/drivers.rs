//! Drivers of other languages, over TLS. `scripts/drivers.sh` fetches them; `make test` calls it.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::{Launch, tool};
use mysql::prelude::Queryable;

/// A file that was fetched, or a word that it was not.
fn fetched(name: &str) -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache")))?;
    let file = cache.join("cohort/drivers").join(name);
    if !file.is_file() {
        println!("NOT RUN: {} is not there; scripts/drivers.sh fetches it", file.display());
        return None;
    }
    Some(file)
}

/// What every driver has to print, logged in with either plugin, before and after a restart.
fn check(program: &str, before: &[&str]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut server = Launch::new(folder.path().join("data")).start()?;
    for (user, plugin) in [("old", "mysql_native_password"), ("new", "caching_sha2_password")] {
        let mut root = server.connect()?;
        root.query_drop(format!("CREATE USER {user} IDENTIFIED WITH {plugin} BY 'secret' REQUIRE SSL"))?;
        root.query_drop(format!("GRANT ALL ON *.* TO {user}"))?;
        // Then the server does not know the digest of the password.
        server = server.stop()?.start()?;
        let (port, ca) = (server.port().to_string(), server.datadir().join("ca.pem"));
        let arguments = [&port, ca.to_str().context("a path")?, user, "secret"];
        let said = tool(program, before.iter().copied().chain(arguments))?.success()?.text();
        let expected = "1000 rows of 2497500 bytes\n9000000\nTLSv1.3\nrefused with 1045\n";
        ensure!(said == expected, "{program} as {user}: {said}");
        let mut root = server.connect()?;
        for database in ["java", "go", "python"] {
            root.query_drop(format!("DROP DATABASE IF EXISTS {database}"))?;
        }
    }
    server.stop()?;
    Ok(())
}

#[test]
fn connector_j_encrypts_and_checks_the_certificate() -> Result<()> {
    let Some(jar) = fetched("connector-j.jar") else { return Ok(()) };
    if tool("java", ["-version"]).is_err() {
        println!("NOT RUN: java is not installed");
        return Ok(());
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/drivers/Tls.java");
    check("java", &["-cp", jar.to_str().context("a path")?, source])
}

#[test]
fn go_sql_driver_encrypts_and_checks_the_certificate() -> Result<()> {
    let Some(program) = fetched("go-tls") else { return Ok(()) };
    check(program.to_str().context("a path")?, &[])
}

#[test]
fn the_client_library_of_mysql_encrypts_and_checks_the_certificate() -> Result<()> {
    let Some(library) = fetched("connector-python/mysql/connector/__init__.py") else { return Ok(()) };
    let folder = library.ancestors().nth(3).and_then(Path::to_str).context("a path")?;
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/drivers/tls.py");
    check("env", &[&format!("PYTHONPATH={folder}"), "python3", source])
}
