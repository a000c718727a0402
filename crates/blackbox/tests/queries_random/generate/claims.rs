//! What a server has to agree with itself about.

use crate::consistency::{Claim, Partitioned, Ways};
use crate::generate::Generator;
use crate::part::Part;
use crate::parts;
use crate::tables::Kind;

impl Generator<'_> {
    pub fn claim(&mut self) -> Claim {
        match self.rng.below(10) {
            0 => Claim::Ways(self.lateral_value()),
            1 => Claim::Ways(self.lateral_rows()),
            2 => Claim::Ways(self.rollup()),
            3..=5 => Claim::Partitioned(self.around_derived()),
            _ => Claim::Partitioned(self.partitioned()),
        }
    }

    /// A query and a condition on its rows.
    fn partitioned(&mut self) -> Partitioned {
        let (from, scope) = self.from(self.depth());
        let kind = *self.pick(&[Kind::Int, Kind::Text, Kind::Decimal]);
        let list = parts![self.value(&scope, Kind::Int, 0), parts![", ", self.value(&scope, kind, 1)].optional()];
        let condition = match self.rng.chance(40) {
            true => self.asking(&scope, self.depth()),
            false => self.condition(&scope, self.depth()),
        };
        let condition = condition.or("1 = 1");
        Partitioned { list, from, condition }
    }

    /// A LATERAL table of one row, or a subquery for its value.
    fn lateral_value(&mut self) -> Ways {
        let (from, scope) = self.from(1);
        let value = self.scalar(&scope, Kind::Int, 1);
        let of = self.value(&scope, Kind::Int, 0);
        let join = *self.pick(&["JOIN", "LEFT JOIN"]);
        let ways = [
            format!("SELECT {{0}}, l.v FROM {{1}} {join} LATERAL (SELECT {{2}} AS v) AS l ON 1 = 1"),
            "SELECT {0}, {2} AS v FROM {1}".to_owned(),
        ];
        Ways { parts: vec![of, from, value], ways }
    }

    /// A LATERAL table of rows that a join finds as well.
    fn lateral_rows(&mut self) -> Ways {
        let (from, around) = self.from(1);
        let (inner, own) = self.factor(0);
        let mut scope = own.clone();
        scope.extend(around.iter().cloned());
        let condition = self.join_condition(&own, &around, &scope, 1).or("1 = 1");
        let of = self.value(&around, Kind::Int, 0);
        // A column: what a derived table computes is NULL where a LEFT JOIN fills it in.
        let inner_of = Part::from(self.column(&own, Kind::Int).unwrap_or_else(|| "1".to_owned()));
        let join = *self.pick(&["JOIN", "LEFT JOIN"]);
        let ways = [
            format!(
                "SELECT {{0}}, l.v FROM {{1}} {join} LATERAL (SELECT {{2}} AS v FROM {{3}} WHERE {{4}}) AS l ON 1 = 1"
            ),
            format!("SELECT {{0}}, {{2}} FROM {{1}} {join} {{3}} ON {{4}}"),
        ];
        Ways { parts: vec![of, from, inner_of, inner, condition], ways }
    }

    /// Groups with ROLLUP, or the groups of each of its levels.
    fn rollup(&mut self) -> Ways {
        let (from, own) = self.from(1);
        let filter = self.filter(&own, 1);
        let kind = *self.pick(&[Kind::Int, Kind::Text, Kind::Decimal]);
        let column = |generator: &mut Self, kind| generator.column(&own, kind).unwrap_or_else(|| "1 + 1".to_owned());
        let (a, b) = (column(self, kind), column(self, Kind::Int));
        if a == b {
            return self.lateral_rows();
        }
        let (value, _) = self.aggregate(&own);
        let ways = [
            format!(
                "SELECT {a}, {b}, GROUPING({a}), GROUPING({b}), {value} FROM {{0}}{{1}} GROUP BY {a}, {b} WITH ROLLUP"
            ),
            format!(
                "SELECT {a}, {b}, 0, 0, {value} FROM {{0}}{{1}} GROUP BY {a}, {b} \
                 UNION ALL SELECT {a}, NULL, 0, 1, {value} FROM {{0}}{{1}} GROUP BY {a} \
                 UNION ALL SELECT NULL, NULL, 1, 1, {value} FROM {{0}}{{1}} HAVING COUNT(*) > 0"
            ),
        ];
        Ways { parts: vec![from, filter], ways }
    }
}
