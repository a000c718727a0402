use super::*;

/// A response as libmariadb sends it: root, no password, database `test`, attributes.
fn response() -> Vec<u8> {
    let wanted = PROTOCOL_41
        | SECURE_CONNECTION
        | CONNECT_WITH_DB
        | PLUGIN_AUTH
        | CONNECT_ATTRS
        | PLUGIN_AUTH_LENENC_CLIENT_DATA;
    let mut out = wanted.to_le_bytes().to_vec();
    out.extend_from_slice(&(1u32 << 30).to_le_bytes());
    out.push(45);
    out.extend_from_slice(&[0; 23]);
    out.extend_from_slice(b"root\0");
    out.extend_from_slice(&[3, 1, 2, 3]);
    out.extend_from_slice(b"test\0mysql_native_password\0");
    let attributes = b"\x04_pid\x0242\x0cprogram_name\x08sysbench";
    out.push(attributes.len() as u8);
    out.extend_from_slice(attributes);
    out
}

#[test]
fn a_whole_response_is_read() {
    let login = Login::decode(&response()).unwrap();
    assert_eq!(login.user, b"root");
    assert_eq!(login.auth_response, [1, 2, 3]);
    assert_eq!(login.database.as_deref(), Some(&b"test"[..]));
    assert_eq!(login.plugin.as_deref(), Some(&b"mysql_native_password"[..]));
    assert_eq!(login.program_name.as_deref(), Some(&b"sysbench"[..]));
    assert_eq!(login.collation, 45);
}

#[test]
fn every_shortened_response_is_an_error_or_a_shorter_login() {
    let whole = response();
    for length in 0..whole.len() {
        if let Ok(login) = Login::decode(&whole[..length]) {
            assert!(login.program_name.is_none(), "cut at {length}");
        }
    }
}

#[test]
fn old_and_tls_clients_are_distinguished() {
    assert_eq!(Login::decode(&[0x05, 0xa4 ^ 0x20, 0, 0, 0, b'r', 0]), Err(LoginError::TooOld));
    let mut tls = response();
    tls[1] |= 0x08;
    assert!(asks_for_tls(&tls[..32]) && asks_for_tls(&tls) && !asks_for_tls(&response()));
    // Once encrypted the response says so again.
    assert_eq!(Login::decode(&tls), Login::decode(&response()));
    assert!(!asks_for_tls(b"") && !asks_for_tls(b"\x00\x08"));
}

#[test]
fn change_user_is_read_with_and_without_its_optional_end() {
    let login = Login::decode_change_user(b"app\0\x02ABshop\0\x2d\x00caching_sha2_password\0", PLUGIN_AUTH).unwrap();
    assert_eq!((login.user.as_slice(), login.auth_response.as_slice()), (&b"app"[..], &b"AB"[..]));
    assert_eq!(login.database.as_deref(), Some(&b"shop"[..]));
    assert_eq!((login.collation, login.plugin.as_deref()), (45, Some(&b"caching_sha2_password"[..])));
    let login = Login::decode_change_user(b"app\0\0\0", PLUGIN_AUTH).unwrap();
    assert_eq!((login.database, login.plugin, login.collation), (None, None, 255));
}

#[test]
fn challenges_have_no_byte_that_ends_a_c_string() {
    let random: [u8; 20] =
        std::array::from_fn(|index| (index as u8).wrapping_mul(128).wrapping_add(b'$' * (index as u8 % 2)));
    assert!(challenge_from(random).iter().all(|byte| !matches!(byte, 0 | b'$' | 0x80..)));
}

#[test]
fn the_greeting_has_the_layout_of_version_10() {
    let mut out = Vec::new();
    Greeting {
        version: "8.0.40-cohort",
        connection_id: 7,
        challenge: b"abcdefghijklmnopqrst",
        capabilities: 0x8123_4567,
        collation: 255,
        status: 2,
        plugin: "caching_sha2_password",
    }
    .encode(&mut out);
    let mut expected = b"\x0a8.0.40-cohort\0\x07\0\0\0abcdefgh\0\x67\x45\xff\x02\0\x23\x81\x15".to_vec();
    expected.extend_from_slice(&[0; 10]);
    expected.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
    assert_eq!(out, expected);
}
