use super::*;
use cohort_sql::value::Value;

fn row(name: &str) -> &'static SystemVariable {
    VariableId::of(name).unwrap().row()
}

#[test]
fn the_table_is_sorted_and_its_defaults_pass_their_own_check() {
    assert!(TABLE.is_sorted_by(|left, right| left.name < right.name));
    Globals::new();
    for row in TABLE {
        assert!(row.meaning.ends_with('.'), "{} has no sentence", row.name);
        assert!(row.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'));
    }
}

#[test]
fn values_are_checked_as_mysql_does() {
    for name in ["InnoDB", "rocksdb"] {
        assert_eq!(row("default_storage_engine").check(&Value::text(name)), Ok((Setting::text("RocksDB"), false)));
    }
    assert_eq!(row("default_storage_engine").parse("MyISAM"), Err(SettingError::Engine("MyISAM".into())));
    assert_eq!(row("autocommit").parse("on"), Ok((Setting::Bool(true), false)));
    assert_eq!(row("autocommit").check(&Value::Int(2)), Err(SettingError::Value("2".into())));
    assert_eq!(row("max_allowed_packet").parse("16M"), Ok((Setting::Int(16 << 20), false)));
    assert_eq!(row("max_allowed_packet").check(&Value::Int(1)), Ok((Setting::Int(1024), true)));
    assert_eq!(row("max_allowed_packet").check(&Value::text("1024")), Err(SettingError::Type));
    assert_eq!(
        row("transaction_isolation").check(&Value::text("read-committed")),
        Ok((Setting::text("READ-COMMITTED"), false))
    );
    assert_eq!(row("completion_type").check(&Value::text("CHAIN")), Err(SettingError::Value("CHAIN".into())));
    // As mysqlbinlog writes them.
    assert_eq!(row("completion_type").check(&Value::Int(0)), Ok((Setting::text("NO_CHAIN"), false)));
    assert_eq!(row("lc_time_names").check(&Value::Int(0)), Ok((Setting::text("en_US"), false)));
    let collation = row("default_collation_for_utf8mb4");
    assert_eq!(collation.check(&Value::Int(255)), Ok((Setting::text("utf8mb4_0900_ai_ci"), false)));
    assert_eq!(collation.check(&Value::Int(45)), Err(SettingError::Value("45".into())));
    assert_eq!(row("character_set_results").check(&Value::Null), Ok((Setting::Null, false)));
    assert_eq!(row("character_set_client").check(&Value::Null), Err(SettingError::Value("NULL".into())));
    assert_eq!(row("innodb_flush_log_at_trx_commit").check(&Value::Int(2)), Ok((Setting::Int(2), false)));
    assert_eq!(row("sql_auto_is_null").check(&Value::Int(1)), Err(SettingError::Value("1".into())));
    assert_eq!(row("sql_auto_is_null").check(&Value::Int(0)), Ok((Setting::Bool(false), false)));
    assert_eq!(row("character_set_client").check(&Value::Int(8)), Ok((Setting::text("latin1"), false)));
    assert_eq!(row("collation_connection").check(&Value::Int(45)), Ok((Setting::text("utf8mb4_general_ci"), false)));
    assert_eq!(row("collation_server").check(&Value::Int(999)), Err(SettingError::Collation("999".into())));
    // Modes that would do nothing, by name and as bits.
    for mode in [Value::text("ANSI_QUOTES,ALLOW_INVALID_DATES"), Value::Int(1 << 25)] {
        assert_eq!(row("sql_mode").check(&mode), Err(SettingError::Value("ALLOW_INVALID_DATES".into())));
    }
}

#[test]
fn switches_that_are_not_named_stay_as_they_are() {
    let row = row("optimizer_switch");
    let (all, _) = row.parse("default").expect("a list");
    let (off, _) = row.check_over(&all, &Value::text("derived_condition_pushdown=off")).expect("a list");
    let (both, _) = row.check_over(&off, &Value::text("mrr=off")).expect("a list");
    assert_eq!(row.parse("mrr=off,derived_condition_pushdown=off"), Ok((both.clone(), false)));
    assert_eq!(row.check_over(&both, &Value::text("default")), Ok((all.clone(), false)));
    assert_eq!(row.check_over(&both, &Value::text("none=on")), Err(SettingError::Value("none=on".into())));
    let mut session = SessionState::new();
    for (setting, pushes) in [(&off, false), (&all, true), (&both, false)] {
        row.apply_to(&mut session, setting);
        assert_eq!(session.pushes_conditions, pushes);
    }
}

#[test]
fn a_session_keeps_what_was_global_when_it_began() {
    let globals = Globals::new();
    let id = VariableId::of("wait_timeout").unwrap();
    let mut session = SessionSettings::new(&globals);
    globals.set(id, Setting::Int(9));
    assert_eq!(session.setting(id), &Setting::Int(28800));
    session.set(id, Setting::Int(7));
    assert_eq!((session.get(ids::WAIT_TIMEOUT), globals.get(ids::WAIT_TIMEOUT)), (7, 9));
}

#[test]
fn a_mistyped_name_is_recognised() {
    let names = || TABLE.iter().map(|row| row.name);
    assert_eq!(nearest("sync_binlgo", names()), Some("sync_binlog"));
    assert_eq!(nearest("max_conections", names()), Some("max_connections"));
    assert_eq!(nearest("frobnicate_everything", names()), None);
}

#[test]
fn what_set_var_takes_is_there_and_can_be_set_in_a_session() {
    for name in super::table::HINTABLE {
        let id = VariableId::of(name).unwrap_or_else(|| panic!("no variable {name}"));
        assert!(id.row().hintable && id.row().scope != Scope::Global, "{name}");
    }
    assert!(!VariableId::of("autocommit").unwrap().row().hintable);
}
