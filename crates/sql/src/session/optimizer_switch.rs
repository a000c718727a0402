//! `optimizer_switch`: what the planner may do, by names that are on or off. Names and defaults are those of MySQL 8.0; of
//! them [`DERIVED_CONDITION_PUSHDOWN`] has an effect here.

use std::fmt;

/// Conditions on derived tables get into them.
pub const DERIVED_CONDITION_PUSHDOWN: &str = "derived_condition_pushdown";

const SWITCHES: [(&str, bool); 27] = [
    ("index_merge", true),
    ("index_merge_union", true),
    ("index_merge_sort_union", true),
    ("index_merge_intersection", true),
    ("engine_condition_pushdown", true),
    ("index_condition_pushdown", true),
    ("mrr", true),
    ("mrr_cost_based", true),
    ("block_nested_loop", true),
    ("batched_key_access", false),
    ("materialization", true),
    ("semijoin", true),
    ("loosescan", true),
    ("firstmatch", true),
    ("duplicateweedout", true),
    ("subquery_materialization_cost_based", true),
    ("use_index_extensions", true),
    ("condition_fanout_filter", true),
    ("derived_merge", true),
    ("use_invisible_indexes", false),
    ("skip_scan", true),
    ("hash_join", true),
    ("subquery_to_derived", false),
    ("prefer_ordering_index", true),
    ("hypergraph_optimizer", false),
    (DERIVED_CONDITION_PUSHDOWN, true),
    ("hash_set_operations", true),
];

/// A value of `optimizer_switch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimizerSwitch([bool; SWITCHES.len()]);

impl Default for OptimizerSwitch {
    fn default() -> Self {
        OptimizerSwitch(SWITCHES.map(|(_, on)| on))
    }
}

impl OptimizerSwitch {
    /// The same with what a list says, in any case: `name=on`, `name=off`, `name=default`, or `default` for all that it does
    /// not name. What the list does not name stays. An error is the item that is none, or that comes twice.
    pub fn with(self, list: &str) -> Result<OptimizerSwitch, String> {
        let items = || list.split(',').filter(|_| !list.is_empty());
        let is_default = |item: &str| item.eq_ignore_ascii_case("default");
        let mut switches = if items().any(is_default) { OptimizerSwitch::default() } else { self };
        let mut said = [false; SWITCHES.len()];
        for item in items().filter(|item| !is_default(item)) {
            let place = |name: &str| SWITCHES.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
            let named = item.split_once('=').and_then(|(name, value)| Some((place(name)?, value)));
            let value = |at: usize, value: &str| match value.to_ascii_lowercase().as_str() {
                "on" => Some(true),
                "off" => Some(false),
                "default" => Some(SWITCHES[at].1),
                _ => None,
            };
            match named.and_then(|(at, text)| Some((at, value(at, text)?))) {
                Some((at, on)) if !std::mem::replace(&mut said[at], true) => switches.0[at] = on,
                _ => return Err(item.to_owned()),
            }
        }
        Ok(switches)
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        SWITCHES.iter().zip(self.0).any(|((known, _), on)| *known == name && on)
    }
}

impl fmt::Display for OptimizerSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, ((name, _), on)) in SWITCHES.iter().zip(self.0).enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{name}={}", if on { "on" } else { "off" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_changes_what_it_names() {
        let all = OptimizerSwitch::default();
        let off = all.with("mrr=off,DERIVED_CONDITION_PUSHDOWN=Off").expect("a list");
        assert!(!off.is_on("mrr") && !off.is_on(DERIVED_CONDITION_PUSHDOWN) && off.is_on("semijoin"));
        assert_eq!(off.with(""), Ok(off));
        assert!(off.with("mrr=default").expect("a list").is_on("mrr"));
        assert_eq!(off.with("default"), Ok(all));
        assert_eq!(off.with("mrr=off,derived_condition_pushdown=off,default"), Ok(off));
        assert_eq!(all.with(&off.to_string()), Ok(off));
    }

    #[test]
    fn an_item_that_is_none_is_refused() {
        for (list, wrong) in [
            ("mrr", "mrr"),
            ("mrr=1", "mrr=1"),
            ("semijoin=on,none=off", "none=off"),
            ("mrr=on,mrr=off", "mrr=off"),
            ("mrr=on,", ""),
        ] {
            assert_eq!(OptimizerSwitch::default().with(list), Err(wrong.to_owned()), "{list}");
        }
    }
}
