//! Queries with window functions.

use crate::generate::Generator;
use crate::part::Part;
use crate::parts;
use crate::tables::Kind;

impl Generator<'_> {
    /// A SELECT with window functions whose values are the same for all rows of a partition.
    pub(super) fn partitions(&mut self, depth: u32) -> (Part, Vec<(String, Kind)>) {
        let (from, own) = self.from(depth - 1);
        let filter = self.filter(&own, depth - 1);
        let kind = *self.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Decimal]);
        let (key, of) = (self.column(&own, kind), self.column(&own, Kind::Int));
        let Some((key, of)) = key.zip(of) else { return self.query(&Vec::new(), depth) };
        let function = (*self.pick(&["COUNT", "SUM", "MAX", "MIN"])).to_owned();
        let other = (*self.pick(&[&format!("{key}, {of}"), &of])).to_owned();
        let list = parts![
            format!("SELECT {key} AS c0, {of} AS c1, {function}({of}) OVER (PARTITION BY {key}) AS c2, "),
            Part::from(format!("COUNT(*) OVER (PARTITION BY {other})")).or(of.as_str()),
            " AS c3 FROM "
        ];
        let columns = [("c0", kind), ("c1", Kind::Int), ("c2", Kind::Int), ("c3", Kind::Int)];
        let columns = columns.map(|(name, kind)| (name.to_owned(), kind)).to_vec();
        (parts![list, from, filter, self.order(&columns)], columns)
    }

    /// A SELECT with windows that have an order and frames. Rows that tie in it give all functions the same, so that the
    /// rows are the same as a set whatever comes first: what depends on the place of a row is of one window.
    pub(super) fn framed(&mut self, depth: u32) -> (Part, Vec<(String, Kind)>) {
        let (from, own) = self.from(depth - 1);
        let filter = self.filter(&own, depth - 1);
        let kind = *self.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Decimal]);
        let of_kind = *self.pick(&[Kind::Int, Kind::Int, Kind::Decimal]);
        let (key, of) = (self.column(&own, kind), self.column(&own, of_kind));
        let Some((key, of)) = key.zip(of) else { return self.query(&Vec::new(), depth) };
        let direction = *self.pick(&["", " DESC"]);
        let partition = if self.rng.chance(60) { format!("PARTITION BY {key} ") } else { String::new() };
        // Without a partition the key makes ties of rows that are not the same.
        let order = match partition.is_empty() {
            true => format!("ORDER BY {of}{direction}, {key}"),
            false => format!("ORDER BY {of}{direction}"),
        };
        let rows = self.frame(false);
        let by_place = match self.rng.below(3) {
            0 => {
                let function =
                    (*self.pick(&["ROW_NUMBER()", "NTILE(2)", "NTILE(3)", "LAG(of)", "LEAD(of, 2)"])).to_owned();
                format!("{} OVER w", function.replace("of", &of))
            }
            _ => format!("{} OVER (w {rows})", self.over_frame(&of)),
        };
        // What ties have in common.
        let ranges = format!("PARTITION BY {key} ORDER BY {of}{direction} ");
        let by_peers = match self.rng.below(4) {
            0 => format!("{} OVER ({ranges})", self.pick(&["RANK()", "DENSE_RANK()", "CUME_DIST()", "PERCENT_RANK()"])),
            1 => format!("{} OVER ({ranges})", self.over_frame(&of)),
            _ => format!("{} OVER ({ranges}{})", self.over_frame(&of), self.frame(true)),
        };
        let columns = vec![
            ("c0".to_owned(), kind),
            ("c1".to_owned(), of_kind),
            ("c2".to_owned(), Kind::Int),
            ("c3".to_owned(), Kind::Int),
        ];
        let query = parts![
            format!("SELECT {key} AS c0, {of} AS c1, "),
            Part::from(by_place).or(of.clone()),
            " AS c2, ",
            Part::from(by_peers).or(of),
            " AS c3 FROM ",
            from,
            filter,
            format!(" WINDOW w AS ({partition}{order})"),
            self.order(&columns),
        ];
        (query, columns)
    }

    /// A window over groups. MariaDB may leave them in the window's order, whatever ORDER BY says.
    pub(super) fn ranked_groups(&mut self, depth: u32) -> (Part, Vec<(String, Kind)>) {
        let (from, own) = self.from(depth - 1);
        let filter = self.filter(&own, depth - 1);
        let Some(key) = self.column(&own, Kind::Int) else { return self.query(&Vec::new(), depth) };
        let (value, kind) = self.aggregate(&own);
        let rank = *self.pick(&["RANK()", "DENSE_RANK()", "SUM(COUNT(*))", "MAX(COUNT(*))"]);
        let columns = vec![("c0".to_owned(), Kind::Int), ("c1".to_owned(), kind), ("c2".to_owned(), Kind::Int)];
        let query = parts![
            format!("SELECT {key} AS c0, {value} AS c1, {rank} OVER (ORDER BY {value}) AS c2 FROM "),
            from,
            filter,
            format!(" GROUP BY {key}"),
        ];
        (query, columns)
    }

    /// A function of the rows of a frame.
    fn over_frame(&mut self, of: &str) -> String {
        let function = *self.pick(&[
            "COUNT(*)",
            "COUNT(of)",
            "SUM(of)",
            "AVG(of)",
            "MIN(of)",
            "MAX(of)",
            "FIRST_VALUE(of)",
            "LAST_VALUE(of)",
            "NTH_VALUE(of, 2)",
        ]);
        function.replace("of", of)
    }

    fn frame(&mut self, ranges: bool) -> String {
        let unit = if ranges { "RANGE" } else { "ROWS" };
        let (near, far) = (self.rng.below(3), self.rng.below(3) + 2);
        let bounds = [
            "UNBOUNDED PRECEDING".to_owned(),
            "CURRENT ROW".to_owned(),
            format!("{near} PRECEDING"),
            format!("BETWEEN {far} PRECEDING AND {near} PRECEDING"),
            format!("BETWEEN {near} PRECEDING AND {far} FOLLOWING"),
            format!("BETWEEN {near} FOLLOWING AND {far} FOLLOWING"),
            "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING".to_owned(),
            format!("BETWEEN CURRENT ROW AND {far} FOLLOWING"),
            "BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING".to_owned(),
            format!("BETWEEN UNBOUNDED PRECEDING AND {near} FOLLOWING"),
        ];
        format!("{unit} {}", self.pick(&bounds))
    }
}
