use super::*;

#[test]
fn templates_are_filled_in_order() {
    let error = SqlError::new(ER_NO_SUCH_TABLE, &[&"db", &"t"]);
    assert_eq!(error.to_string(), "ERROR 1146 (42S02): Table 'db.t' doesn't exist");
    assert_eq!(SqlError::new(ER_NO_SUCH_TABLE, &[]).message, "Table '.' doesn't exist");
    assert!(SqlError::unsupported("x").is(ER_NOT_SUPPORTED_YET));
}

#[test]
fn every_row_has_a_state_of_five_characters() {
    for (name, code) in ALL {
        assert!(
            code.sqlstate.len() == 5 && code.sqlstate.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()),
            "{name}"
        );
        assert!(code.errno >= 1000 && !code.template.is_empty(), "{name}");
    }
}

#[test]
fn results_stay_small() {
    assert_eq!(size_of::<SqlError>(), 8);
    assert_eq!(size_of::<Result<crate::value::Value, SqlError>>(), 24);
}

#[test]
fn long_arguments_are_cut_between_characters() {
    let long = "ä".repeat(1 << 20);
    let error = SqlError::new(ER_NO_SUCH_TABLE, &[&format_args!("x{long}"), &"t"]);
    assert!(error.message.ends_with("ää.t' doesn't exist"), "{}", error.message);
    assert!(error.message.len() < 600, "{}", error.message.len());
}
