//! Encrypted connections: with clients of other makers, and byte by byte.

mod wire;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cohort_blackbox::rng::{self, Rng};
use cohort_blackbox::{Launch, Server, tool};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use crate::wire::{Wire, errno, greeted, login, packet, receive, request};

fn launch(folder: &tempfile::TempDir) -> Launch {
    Launch::new(folder.path().join("data"))
}

fn ca(server: &Server) -> PathBuf {
    server.datadir().join("ca.pem")
}

fn query(sql: &[u8]) -> Vec<u8> {
    packet(0, &[b"\x03", sql].concat())
}

fn over_socket(server: &Server) -> Result<Conn> {
    let options = OptsBuilder::new().socket(Some(server.socket().display().to_string())).user(Some("root"));
    Ok(Conn::new(options)?)
}

/// What the command line client prints.
fn client(server: &Server, options: &[&str], sql: &str) -> Result<String> {
    let port = format!("--port={}", server.port());
    let fixed = ["--no-defaults", "--host=127.0.0.1", &port, "--user=root", "--batch", "--skip-column-names"];
    Ok(tool("mariadb", fixed.iter().chain(options).copied().chain(["--execute", sql]))?.success()?.text())
}

#[test]
fn clients_of_other_makers_encrypt_and_check_the_certificate() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let ca = format!("--ssl-ca={}", ca(&server).display());
    let status = "SHOW STATUS WHERE Variable_name IN ('Ssl_version', 'Ssl_cipher')";
    let said = client(&server, &[&ca, "--ssl-verify-server-cert"], status)?;
    assert_eq!(said, "Ssl_cipher\tTLS_AES_256_GCM_SHA384\nSsl_version\tTLSv1.3\n");
    let said = client(&server, &[&ca, "--tls-version=TLSv1.2"], status)?;
    assert_eq!(said, "Ssl_cipher\tECDHE-ECDSA-AES256-GCM-SHA384\nSsl_version\tTLSv1.2\n");
    assert_eq!(client(&server, &["--skip-ssl"], status)?, "Ssl_cipher\t\nSsl_version\t\n");
    let long = client(&server, &["--ssl"], "SELECT REPEAT('x', 5000000)")?;
    assert_eq!(long.trim_end().len(), 5_000_000);
    for (version, good) in [("-tls1_3", true), ("-tls1_2", true), ("-tls1_1", false)] {
        let (address, file) = (format!("127.0.0.1:{}", server.port()), server.datadir().join("ca.pem"));
        let fixed = ["s_client", "-starttls", "mysql", "-connect", &address, "-verify_return_error"];
        let more = ["-verify_hostname", "localhost", version, "-CAfile", file.to_str().context("a path")?];
        let said = tool("openssl", fixed.iter().chain(&more))?;
        assert_eq!(said.text().contains("Verify return code: 0 (ok)") && said.status.success(), good, "{version}");
    }
    // What goes through the Unix socket stays on this machine.
    let (name, _): (String, String) =
        over_socket(&server)?.query_first("SHOW STATUS LIKE 'Ssl_version'")?.context("")?;
    assert_eq!(name, "Ssl_version");
    Ok(())
}

#[test]
fn commands_are_found_in_whatever_records_they_come() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).option("--thread-pool-size=1").option("--max-allowed-packet=64M").start()?;
    let mut idle = Wire::log_in(server.port(), &ca(&server))?;
    let mut wire = Wire::log_in(server.port(), &ca(&server))?;
    // Many commands in one record: none is left lying when the connection is put aside.
    let many: Vec<u8> = (0..500).flat_map(|number| query(format!("SELECT {number}").as_bytes())).collect();
    for _ in 0..20 {
        wire.send(&many)?;
        for number in 0..500 {
            let row = wire.row()?;
            assert_eq!(&row[1..], number.to_string().as_bytes());
        }
    }
    // One command in many records, of sizes that a seed chooses.
    let mut rng = Rng::new(rng::seed());
    for _ in 0..50 {
        let text = "y".repeat(rng.below(20_000) as usize + 1);
        let mut rest = query(format!("SELECT '{text}'").as_bytes());
        while !rest.is_empty() {
            let longest = if rng.below(2) == 0 { 5 } else { 5000 };
            let next = rest.split_off(rest.len().min(1 + rng.below(longest) as usize));
            wire.send(&rest)?;
            rest = next;
        }
        let row = wire.row()?;
        assert!(row.ends_with(text.as_bytes()), "{} bytes", text.len());
    }
    // More than a socket and the encryption have room for, in both directions.
    let text = "z".repeat(15 << 20);
    wire.send(&query(format!("SELECT '{text}'").as_bytes()))?;
    assert!(wire.row()?.ends_with(text.as_bytes()));
    // Commits are answered by another thread.
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)"] {
        wire.send(&query(sql.as_bytes()))?;
        assert_eq!(wire.receive()?.context("closed")?[0], 0, "{sql}");
    }
    for id in 0..200 {
        wire.send(&query(format!("INSERT INTO d.t VALUES ({id})").as_bytes()))?;
        assert_eq!(wire.receive()?.context("closed")?[0], 0);
    }
    idle.send(&query(b"SELECT COUNT(*) FROM d.t"))?;
    assert_eq!(&idle.row()?[1..], b"200");
    // Goodbye.
    idle.send(&packet(0, b"\x01"))?;
    assert!(idle.receive()?.is_none());
    Ok(())
}

/// What is left in the stream until the server closes it.
fn rest(stream: &mut impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => Err(error.into()),
        _ => Ok(bytes),
    }
}

#[test]
fn what_is_no_tls_is_closed_and_lets_nobody_in() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut rng = Rng::new(rng::seed());
    let plain = packet(2, &login("root", b"", "mysql_native_password"));
    let endless = [b"\x16\x03\x01\x40\x00".as_slice(), &[0xff; 0x4000]].concat().repeat(20);
    for round in 0..60 {
        let mut stream = greeted(server.port())?;
        let garbage: Vec<u8> = match round {
            // Sent along with the request, as if it were the encrypted login.
            0 | 1 => plain.clone(),
            2 => endless.clone(),
            // The head of a record, then noise.
            _ if round % 2 == 0 => {
                [b"\x16\x03\x01\x00\x50\x01\x00".as_slice(), &rng.bits().to_le_bytes().repeat(10)].concat()
            }
            _ => (0..rng.below(3000) + 6).map(|_| rng.bits() as u8).collect(),
        };
        // The server may close before it has all of it.
        if round % 2 == 0 {
            let _ = stream.write_all(&[request(), garbage].concat());
        } else {
            let _ = stream.write_all(&request());
            let _ = stream.write_all(&garbage);
        }
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let answer = rest(&mut stream)?;
        // An alert, or nothing.
        assert!(answer.is_empty() || answer[0] == 0x15, "round {round}: {answer:?}");
    }
    assert_eq!(server.connect()?.query_first::<i32, _>("SELECT 1")?, Some(1));
    Ok(())
}

#[test]
fn a_client_that_stops_in_the_handshake_is_ended_and_takes_no_place() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).option("--connect-timeout=2").start()?;
    let begun = Instant::now();
    let mut held = Vec::new();
    for round in 0..40 {
        let mut stream = greeted(server.port())?;
        stream.write_all(&request())?;
        if round % 2 == 0 {
            stream.write_all(b"\x16\x03\x01")?;
        }
        held.push(stream);
    }
    // Others log in meanwhile.
    server.connect()?.query_drop("SELECT 1")?;
    while held.iter_mut().any(|stream| stream.write_all(b"\x02").is_ok()) {
        // One byte at a time buys no more time.
        ensure!(begun.elapsed() < Duration::from_secs(60), "still there");
        std::thread::sleep(Duration::from_millis(100));
    }
    let (_, accepts): (String, u64) = server.connect()?.query_first("SHOW STATUS LIKE 'Ssl_accepts'")?.context("")?;
    let (_, finished): (String, u64) =
        server.connect()?.query_first("SHOW STATUS LIKE 'Ssl_finished_accepts'")?.context("")?;
    assert_eq!((accepts, finished), (40, 0));
    Ok(())
}

#[test]
fn only_secure_connections_are_let_in_where_they_are_required() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    server.connect()?.query_drop("SET GLOBAL require_secure_transport = ON")?;
    match server.connect().map_err(|error| error.downcast::<mysql::Error>()) {
        Err(Ok(mysql::Error::MySqlError(error))) => assert_eq!((error.code, error.state.as_str()), (3159, "HY000")),
        other => panic!("{other:?}"),
    }
    Wire::log_in(server.port(), &ca(&server))?;
    over_socket(&server)?.query_drop("SET GLOBAL require_secure_transport = OFF")?;
    server.connect()?;
    Ok(())
}

/// The first certificate in a file.
fn issued(server: &Server) -> Result<Vec<u8>> {
    Ok(Wire::connect(server.port(), &ca(server), None)?.certificate())
}

#[test]
fn certificates_are_made_kept_and_replaced() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let file = |name: &str| folder.path().join("data").join(name);
    for (name, mode) in
        [("ca-key.pem", 0o600), ("server-key.pem", 0o600), ("ca.pem", 0o640), ("server-cert.pem", 0o640)]
    {
        assert_eq!(fs::metadata(file(name))?.permissions().mode() & 0o777, mode, "{name}");
    }
    let first = issued(&server)?;
    let server = server.kill_and_restart()?;
    assert_eq!(issued(&server)?, first, "a restart keeps it");
    // A bad file changes nothing.
    let mut open = Wire::log_in(server.port(), &ca(&server))?;
    let good = fs::read(file("server-key.pem"))?;
    fs::write(file("server-key.pem"), rcgen::KeyPair::generate()?.serialize_pem())?;
    let mut conn = server.connect()?;
    let refused = conn.query_drop("ALTER INSTANCE RELOAD TLS");
    assert!(matches!(&refused, Err(mysql::Error::MySqlError(error)) if error.code == 3888), "{refused:?}");
    assert_eq!(issued(&server)?, first);
    let launch = server.kill()?;
    let log = launch.start_refused()?.log;
    assert!(log.contains("server-cert.pem") && log.contains("server-key.pem"), "{log}");
    assert!(open.receive()?.is_none());
    // What is missing is made again, by the same issuer.
    fs::write(file("server-key.pem"), good)?;
    fs::remove_file(file("server-cert.pem"))?;
    let server = launch.start()?;
    let second = issued(&server)?;
    assert_ne!(second, first);
    // A new pair is read without a restart; who is connected stays.
    let mut open = Wire::log_in(server.port(), &ca(&server))?;
    let key = rcgen::KeyPair::generate()?;
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()])?.self_signed(&key)?;
    fs::write(file("own-cert.pem"), certificate.pem())?;
    fs::write(file("own-key.pem"), key.serialize_pem())?;
    let mut conn = server.connect()?;
    conn.query_drop("SET GLOBAL ssl_cert = 'own-cert.pem', GLOBAL ssl_key = 'own-key.pem'")?;
    assert_eq!(issued(&server)?, second, "not before it is said");
    conn.query_drop("ALTER INSTANCE RELOAD TLS")?;
    let third = Wire::connect(server.port(), &file("own-cert.pem"), None)?.certificate();
    assert_eq!(third, certificate.der().to_vec());
    open.send(&query(b"SELECT 7"))?;
    assert_eq!(&open.row()?[1..], b"7");
    // Without TLS it is not offered.
    let launch = server.stop()?.option("--tls-version=");
    let server = launch.start()?;
    let mut stream = greeted(server.port())?;
    stream.write_all(&request())?;
    assert_eq!(errno(&receive(&mut stream)?.context("no answer")?), Some(1043));
    let (_, have): (String, String) = server.connect()?.query_first("SHOW VARIABLES LIKE 'have_ssl'")?.context("")?;
    assert_eq!(have, "DISABLED");
    Ok(())
}

#[test]
fn a_password_travels_in_clear_only_where_nobody_listens() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    server.connect()?.query_drop("CREATE USER ann IDENTIFIED WITH caching_sha2_password BY 'secret'")?;
    // After a restart the server needs the password itself.
    let server = server.stop()?.start()?;
    let hello = login("ann", &[7; 32], "caching_sha2_password");
    let mut stream = greeted(server.port())?;
    stream.write_all(&packet(1, &hello))?;
    assert_eq!(receive(&mut stream)?.context("closed")?[0], 0xfe);
    stream.write_all(&packet(3, &[7; 32]))?;
    assert_eq!(receive(&mut stream)?.context("closed")?, [1, 4]);
    stream.write_all(&packet(5, b"secret\0"))?;
    assert!(errno(&receive(&mut stream)?.context("closed")?).is_some(), "let in with a password in clear");
    let mut wire = Wire::connect(server.port(), &ca(&server), None)?;
    wire.send(&packet(2, &hello))?;
    assert_eq!(wire.receive()?.context("closed")?[0], 0xfe);
    wire.send(&packet(4, &[7; 32]))?;
    assert_eq!(wire.receive()?.context("closed")?, [1, 4]);
    wire.send(&packet(6, b"secret\0"))?;
    assert_eq!(wire.receive()?.context("closed")?[0], 0);
    Ok(())
}

#[test]
fn accounts_require_what_their_statements_say() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = launch(&folder).start()?;
    let mut root = server.connect()?;
    let file = |name: &str| fs::read_to_string(server.datadir().join(name));
    let issuer_key = rcgen::KeyPair::from_pem(&file("ca-key.pem")?)?;
    let mut issuer = rcgen::CertificateParams::default();
    issuer.distinguished_name.push(rcgen::DnType::CommonName, "Cohort auto-generated CA certificate");
    let issuer = rcgen::Issuer::new(issuer, issuer_key);
    let key = rcgen::KeyPair::generate()?;
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::OrganizationName, "Example");
    params.distinguished_name.push(rcgen::DnType::CommonName, "ann");
    let certificate = params.signed_by(&key, &issuer)?;
    fs::write(folder.path().join("client.pem"), certificate.pem())?;
    fs::write(folder.path().join("client-key.pem"), key.serialize_pem())?;

    let ca = format!("--ssl-ca={}", ca(&server).display());
    let (shown, secret) = (folder.path().join("client.pem"), folder.path().join("client-key.pem"));
    let (shown, secret) = (format!("--ssl-cert={}", shown.display()), format!("--ssl-key={}", secret.display()));
    let port = format!("--port={}", server.port());
    let gets_in = |options: &[&str]| -> Result<bool> {
        let fixed = ["--no-defaults", "--host=127.0.0.1", &port, "--user=ann", "--password=secret"];
        let said = tool("mariadb", fixed.iter().chain(options).copied().chain(["--execute", "SELECT 1"]))?;
        let denied = said.complaints().contains("1045");
        ensure!(said.status.success() != denied, "{}", said.complaints());
        Ok(!denied)
    };
    root.query_drop("CREATE USER ann IDENTIFIED WITH mysql_native_password BY 'secret' REQUIRE SSL")?;
    let subject = "/O=Example/CN=ann";
    for (requirement, plain, encrypted, with_certificate) in [
        ("SSL", false, true, true),
        ("NONE", true, true, true),
        ("X509", false, false, true),
        (&format!("SUBJECT '{subject}'"), false, false, true),
        (&format!("SUBJECT '{subject}' AND ISSUER '/CN=Cohort auto-generated CA certificate'"), false, false, true),
        ("SUBJECT '/CN=bob'", false, false, false),
        ("ISSUER '/CN=another'", false, false, false),
        ("CIPHER 'TLS_AES_256_GCM_SHA384'", false, true, true),
        ("CIPHER 'TLS_AES_128_GCM_SHA256'", false, false, false),
    ] {
        root.query_drop(format!("ALTER USER ann REQUIRE {requirement}"))?;
        let created: String = root.query_first("SHOW CREATE USER ann")?.context("a row")?;
        let said = requirement.replace(" AND ", " ");
        assert!(
            created.starts_with("CREATE USER `ann`@`%` IDENTIFIED WITH 'mysql_native_password' AS '*"),
            "{created}"
        );
        let end = format!(
            " REQUIRE {said} PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK PASSWORD HISTORY DEFAULT \
             PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT"
        );
        assert!(created.ends_with(&end), "{created}");
        let found = [gets_in(&["--skip-ssl"])?, gets_in(&[&ca])?, gets_in(&[&ca, &shown, &secret])?];
        assert_eq!(found, [plain, encrypted, with_certificate], "{requirement}");
    }
    // It outlives a restart.
    root.query_drop("ALTER USER ann REQUIRE X509")?;
    let created: String = root.query_first("SHOW CREATE USER ann")?.context("a row")?;
    let server = server.stop()?.start()?;
    let mut root = server.connect()?;
    assert_eq!(root.query_first::<String, _>("SHOW CREATE USER ann")?.context("a row")?, created);
    root.query_drop("DROP USER ann")?;
    root.query_drop(&created)?;
    assert_eq!(root.query_first::<String, _>("SHOW CREATE USER ann")?.context("a row")?, created);
    // A certificate of somebody else ends the handshake.
    let stranger = rcgen::CertificateParams::default().self_signed(&key)?.pem();
    let files = wire::ClientFiles { certificate: &stranger, key: &key.serialize_pem() };
    let refused = Wire::connect(server.port(), &server.datadir().join("ca.pem"), Some(files)).and_then(|mut wire| {
        wire.send(&packet(2, &login("root", b"", "mysql_native_password")))?;
        wire.receive()
    });
    assert!(refused.is_err() || matches!(refused, Ok(None)), "{refused:?}");
    Ok(())
}
