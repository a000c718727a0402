//! Tables and statements of the grammar, by chance.

use cohort_blackbox::rng::Rng;

use crate::documents;
use crate::grammar::{self, Class, Operand, choose};
use crate::tree::{Literal, Tree};
use crate::xml;

/// How deep expressions are nested, at most.
const DEPTH: u32 = 3;

pub struct Column {
    pub name: String,
    pub class: Class,
}

impl Column {
    fn is_temporal(&self) -> bool {
        matches!(self.class, Class::Date | Class::DateTime | Class::Time | Class::Year)
    }

    fn has_members(&self) -> bool {
        matches!(self.class, Class::Member | Class::Members)
    }

    fn is_json(&self) -> bool {
        self.class == Class::Json
    }
}

/// A table to generate statements for: `id` is its primary key, the columns are the others.
pub struct Table {
    pub create: Tree,
    columns: Vec<Column>,
    pub auto_increment: bool,
}

/// Whether something of a number of percent happens, as an optional part.
fn perhaps(rng: &mut Rng, percent: u64, part: impl FnOnce(&mut Rng) -> Vec<Tree>) -> Tree {
    Tree::Optional(if rng.chance(percent) { part(rng) } else { Vec::new() })
}

impl Table {
    pub fn generate(rng: &mut Rng) -> Table {
        let auto_increment = rng.chance(50);
        let key = if auto_increment { "id INT AUTO_INCREMENT PRIMARY KEY" } else { "id INT PRIMARY KEY" };
        let (mut parts, mut columns) = (vec![Tree::from(key)], Vec::new());
        for at in 0..3 + rng.below(5) {
            let name = format!("c{at}");
            let (class, types) = choose(rng, grammar::COLUMN_TYPES);
            let column_type = choose(rng, types);
            let lob = column_type.ends_with("TEXT") || column_type.ends_with("BLOB");
            let nullable = column_type.ends_with("NULL") || rng.chance(60);
            let characters = matches!(class, Class::Text | Class::Member | Class::Members);
            let own_collation =
                perhaps(rng, if characters { 35 } else { 0 }, |rng| vec![Tree::from(choose(rng, grammar::CHARSETS))]);
            let definition = vec![
                Tree::from(format!("{name} {column_type}")),
                own_collation,
                Tree::Optional(if nullable { Vec::new() } else { vec![Tree::from(" NOT NULL")] }),
                // A default that does not fit is refused: by both.
                perhaps(rng, if lob { 0 } else { 30 }, |rng| {
                    let mut value = grammar::value(rng, class);
                    if matches!(class, Class::Member | Class::Members) && rng.chance(90) {
                        value = Literal::Text("a".to_owned());
                    }
                    if matches!(value, Literal::Null | Literal::Temporal(..) | Literal::Bytes(_)) {
                        value = Literal::Number("1".to_owned());
                    }
                    vec![Tree::from(" DEFAULT "), Tree::Literal(value)]
                }),
            ];
            parts.push(Tree::OfColumn(name.clone(), Box::new(Tree::Sequence(definition))));
            let prefix = if lob { "(5)" } else { "" };
            if rng.chance(30) {
                let unique = if rng.chance(40) { "UNIQUE " } else { "" };
                let index = Tree::Key(format!("{unique}KEY k{at} ({name}{prefix})"));
                parts.push(Tree::OfColumn(name.clone(), Box::new(index)));
            }
            columns.push(Column { name, class });
        }
        if rng.chance(15) {
            let name = format!("c{}", columns.len());
            parts.push(Tree::OfColumn(name.clone(), Box::new(Tree::from(format!("{name} JSON")))));
            columns.push(Column { name, class: Class::Json });
        }
        let engine = perhaps(rng, 30, |_| vec![Tree::from(" ENGINE=redb")]);
        let collation = perhaps(rng, 60, |rng| {
            let list = if rng.chance(30) { grammar::OTHER_COLLATIONS } else { grammar::COLLATIONS };
            vec![Tree::from(format!(" COLLATE={}", choose(rng, list)))]
        });
        let create = Tree::Sequence(vec![
            Tree::from("CREATE TABLE t ("),
            Tree::List(", ", parts),
            Tree::from(")"),
            collation,
            engine,
        ]);
        Table { create, columns, auto_increment }
    }

    /// An expression of this class over the columns.
    fn expression(&self, rng: &mut Rng, class: Class, depth: u32) -> Tree {
        let mut all = grammar::EXPRESSIONS.iter().chain(documents::EXPRESSIONS);
        let templates = all.find(|(of, _)| *of == class).map_or(&[][..], |(_, list)| list);
        if depth == 0 || templates.is_empty() || rng.chance(35) {
            let of_class: Vec<&Column> = self.columns.iter().filter(|column| column.class == class).collect();
            return match of_class.as_slice() {
                [] => Tree::Literal(grammar::known(rng, class)),
                _ if rng.chance(35) => Tree::Literal(grammar::known(rng, class)),
                found => Tree::Expression(class, vec![Tree::from(choose(rng, found).name.as_str())]),
            };
        }
        let template = choose(rng, templates);
        self.fill(rng, class, template, depth - 1)
    }

    /// The expression of a template.
    fn fill(&self, rng: &mut Rng, class: Class, template: &str, depth: u32) -> Tree {
        let mut pieces = template.split('$');
        let mut parts = vec![Tree::from(pieces.next().unwrap_or_default())];
        for piece in pieces {
            let mut chars = piece.chars();
            let letter = chars.next().expect("a letter follows a dollar sign");
            parts.push(match grammar::operand(letter) {
                Operand::Of(classes) => {
                    let class = choose(rng, classes);
                    self.expression(rng, class, depth)
                }
                Operand::Count => Tree::Literal(grammar::count(rng)),
                Operand::Unit => Tree::from(choose(rng, grammar::UNITS)),
                Operand::DateText => Tree::Literal(grammar::date_text(rng)),
                Operand::TimeText => Tree::Literal(grammar::time_text(rng)),
                Operand::Collation => Tree::from(choose(rng, grammar::COLLATIONS)),
                Operand::Charset => Tree::from(choose(rng, grammar::CHARSET_NAMES)),
                Operand::Document => Tree::Literal(grammar::known(rng, Class::Json)),
                Operand::JsonColumn => self.json_column(),
                Operand::JsonValue => {
                    let class = choose(rng, &[Class::Integer, Class::Decimal, Class::Text]);
                    self.expression(rng, class, 0)
                }
                Operand::Xml => Tree::Literal(Literal::Text(xml::document(rng))),
                Operand::XPath => Tree::Literal(Literal::Text(xml::expression(rng))),
                Operand::Path(paths) => Tree::from(choose(rng, paths)),
            });
            parts.push(Tree::from(chars.as_str()));
        }
        Tree::Expression(class, parts)
    }

    fn has_json(&self) -> bool {
        self.columns.iter().any(Column::is_json)
    }

    fn json_column(&self) -> Tree {
        let column = self.columns.iter().find(|column| column.is_json());
        let name = column.map_or("NULL", |column| column.name.as_str());
        Tree::Expression(Class::Json, vec![Tree::from(name)])
    }

    /// What is made of documents.
    fn of_documents(&self, rng: &mut Rng) -> Tree {
        match rng.below(3) {
            0 => self.expression(rng, Class::Json, 2),
            1 => self.expression(rng, Class::Extracted, 2),
            _ => {
                let template = choose(rng, documents::COUNTS);
                self.fill(rng, Class::Integer, template, 1)
            }
        }
    }

    fn any(&self, rng: &mut Rng) -> Tree {
        if self.has_json() && rng.chance(30) {
            return self.of_documents(rng);
        }
        if rng.chance(4) {
            return self.quotient(rng);
        }
        if rng.chance(4) {
            let template = choose(rng, xml::EXPRESSIONS);
            return self.fill(rng, Class::Text, template, 1);
        }
        let Operand::Of(classes) = grammar::operand('x') else { unreachable!() };
        let class = choose(rng, classes);
        self.expression(rng, class, DEPTH)
    }

    fn quotient(&self, rng: &mut Rng) -> Tree {
        let template = choose(rng, grammar::QUOTIENTS);
        self.fill(rng, Class::Decimal, template, 1)
    }

    /// A condition for WHERE. MariaDB keeps the constants of one, and an unsigned one of a bit operator or a cast is signed
    /// where it is then taken for a DOUBLE: there is none.
    fn condition(&self, rng: &mut Rng) -> Tree {
        if self.has_json() && rng.chance(20) {
            let template = choose(rng, documents::CONDITIONS);
            return self.fill(rng, Class::Condition, template, 1);
        }
        loop {
            let condition = self.expression(rng, Class::Condition, DEPTH);
            if !condition.has_constant_bits() {
                return condition;
            }
        }
    }

    /// How documents sort is not the same in MariaDB.
    fn columns_to_sort(&self) -> Vec<&Column> {
        self.columns.iter().filter(|column| !column.is_json()).collect()
    }

    fn filter(&self, rng: &mut Rng, percent: u64) -> Tree {
        perhaps(rng, percent, |rng| vec![Tree::from(" WHERE "), self.condition(rng)])
    }

    /// Rows in an order that is the same everywhere.
    fn ordered(&self, rng: &mut Rng) -> Tree {
        perhaps(rng, 100, |rng| {
            let first = perhaps(rng, 50, |rng| {
                let descending = if rng.chance(50) { " DESC" } else { "" };
                if rng.chance(30) {
                    let column = choose(rng, &self.columns_to_sort());
                    return vec![Tree::OfColumn(
                        column.name.clone(),
                        Box::new(Tree::from(format!("{}{descending}, ", column.name))),
                    )];
                }
                let Operand::Of(classes) = grammar::operand('x') else { unreachable!() };
                let class = choose(rng, classes);
                // A bare number would be the place of a column.
                vec![
                    Tree::from("COALESCE("),
                    self.expression(rng, class, DEPTH),
                    Tree::from(format!("){descending}, ")),
                ]
            });
            let limit = perhaps(rng, 40, |rng| vec![Tree::from(format!(" LIMIT {}", rng.below(6)))]);
            vec![Tree::from(" ORDER BY "), first, Tree::from("id"), limit]
        })
    }

    /// The value that a statement gives to a column.
    fn assigned(&self, rng: &mut Rng, column: &Column) -> Tree {
        match rng.below(10) {
            0..5 => Tree::Literal(grammar::value(rng, column.class)),
            5..7 => self.expression(rng, column.class, 2),
            7 if matches!(column.class, Class::Decimal | Class::Double) => self.quotient(rng),
            7 => self.expression(rng, column.class, 2),
            8 => Tree::from("DEFAULT"),
            _ if column.is_json() => self.expression(rng, Class::Json, 2),
            _ if column.has_members() => {
                let class = choose(rng, &[Class::Text, Class::Text, Class::Integer, Class::Decimal, Class::Double]);
                self.expression(rng, class, 2)
            }
            _ if column.is_temporal() && rng.chance(50) => Tree::Literal(grammar::number_of(rng, column.class)),
            _ if column.is_temporal() => self.expression(rng, Class::Text, 2),
            // How a DECIMAL that CASE made of an integer is written into a string is not compared.
            _ if matches!(column.class, Class::Text | Class::Bytes) => self.expression(rng, Class::Integer, 2),
            // How a date is rounded to an integer is up to MariaDB's SQL mode.
            _ => {
                let class = choose(rng, &[Class::Integer, Class::Decimal, Class::Text]);
                self.expression(rng, class, DEPTH)
            }
        }
    }

    fn assignments(&self, rng: &mut Rng) -> Tree {
        let items = (0..1 + rng.below(2))
            .map(|_| {
                let column = &self.columns[rng.below(self.columns.len() as u64) as usize];
                let value = self.assigned(rng, column);
                let assignment = vec![Tree::from(format!("{} = ", column.name)), value];
                Tree::OfColumn(column.name.clone(), Box::new(Tree::Sequence(assignment)))
            })
            .collect();
        Tree::List(", ", items)
    }

    /// A statement that changes rows.
    pub fn change(&self, rng: &mut Rng) -> Tree {
        match rng.below(10) {
            0..5 => self.insert(rng),
            5 => self.insert_select(rng),
            6..9 => self.update(rng),
            _ => self.delete(rng),
        }
    }

    fn insert(&self, rng: &mut Rng) -> Tree {
        let verb = choose(rng, &["INSERT", "INSERT", "INSERT", "INSERT IGNORE", "REPLACE"]);
        let named: Vec<&Column> = self.columns.iter().filter(|_| rng.chance(85)).collect();
        let with_id = !self.auto_increment || rng.chance(50);
        let of_column = |column: &Column, tree: Tree| Tree::OfColumn(column.name.clone(), Box::new(tree));
        let id_name = if with_id { Some(Tree::from("id")) } else { None };
        let names =
            id_name.into_iter().chain(named.iter().map(|column| of_column(column, Tree::from(column.name.as_str()))));
        let names: Vec<Tree> = names.collect();
        if names.is_empty() {
            return Tree::from(format!("{verb} INTO t () VALUES ()"));
        }
        let rows = (0..1 + rng.below(4)).map(|_| {
            let mut items: Vec<Tree> = if with_id { vec![self.id(rng)] } else { Vec::new() };
            for column in &named {
                // A column has no value in a row that is being made.
                let value = match rng.below(20) {
                    0 => Tree::from("DEFAULT"),
                    1 if column.is_temporal() => Tree::Literal(match rng.below(2) {
                        0 => grammar::number_of(rng, column.class),
                        _ => grammar::literal(rng, Class::Text),
                    }),
                    1 if !column.is_json() => {
                        let class = choose(rng, &[Class::Integer, Class::Decimal, Class::Text]);
                        Tree::Literal(grammar::literal(rng, class))
                    }
                    _ => Tree::Literal(grammar::value(rng, column.class)),
                };
                items.push(of_column(column, value));
            }
            Tree::Sequence(vec![Tree::from("("), Tree::List(", ", items), Tree::from(")")])
        });
        let rows: Vec<Tree> = rows.collect();
        Tree::Sequence(vec![
            Tree::from(format!("{verb} INTO t (")),
            Tree::List(", ", names),
            Tree::from(") VALUES "),
            Tree::List(", ", rows),
            self.on_duplicate(rng, verb, &named),
        ])
    }

    /// A value of `id` in a new row.
    fn id(&self, rng: &mut Rng) -> Tree {
        match rng.below(20) {
            0..2 if self.auto_increment => Tree::Literal(Literal::Null),
            2 if self.auto_increment => Tree::from("DEFAULT"),
            3 if self.auto_increment => Tree::Literal(Literal::Number("0".to_owned())),
            4 => Tree::Literal(Literal::Number("-3".to_owned())),
            _ => Tree::Literal(Literal::Number((1 + rng.below(20)).to_string())),
        }
    }

    fn on_duplicate(&self, rng: &mut Rng, verb: &str, inserted: &[&Column]) -> Tree {
        let percent = if verb.starts_with("INSERT") { 35 } else { 0 };
        perhaps(rng, percent, |rng| {
            let mut items = Vec::new();
            if self.auto_increment && rng.chance(20) {
                items.push(Tree::from("id = LAST_INSERT_ID(id)"));
            }
            // Each column once: MariaDB's VALUES() of a text that was assigned reads what is no longer there.
            let mut left: Vec<&Column> = self.columns.iter().collect();
            for _ in 0..(1 + rng.below(2)).min(left.len() as u64) {
                let column = left.swap_remove(rng.below(left.len() as u64) as usize);
                let value = match rng.below(3) {
                    0 if inserted.iter().any(|known| known.name == column.name) => {
                        Tree::from(format!("VALUES({})", column.name))
                    }
                    _ => self.assigned(rng, column),
                };
                let assignment = vec![Tree::from(format!("{} = ", column.name)), value];
                items.push(Tree::OfColumn(column.name.clone(), Box::new(Tree::Sequence(assignment))));
            }
            vec![Tree::from(" ON DUPLICATE KEY UPDATE "), Tree::List(", ", items)]
        })
    }

    fn insert_select(&self, rng: &mut Rng) -> Tree {
        let verb = choose(rng, &["INSERT", "INSERT IGNORE", "REPLACE"]);
        let named: Vec<&Column> = self.columns.iter().filter(|_| rng.chance(80)).collect();
        let (mut names, mut values) = (Vec::new(), Vec::new());
        if !self.auto_increment || named.is_empty() || rng.chance(50) {
            names.push(Tree::from("id"));
            values.push(Tree::from(format!("id + {}", rng.below(20))));
        }
        for column in &named {
            names.push(Tree::OfColumn(column.name.clone(), Box::new(Tree::from(column.name.as_str()))));
            let value = self.expression(rng, column.class, 1);
            values.push(Tree::OfColumn(column.name.clone(), Box::new(value)));
        }
        Tree::Sequence(vec![
            Tree::from(format!("{verb} INTO t (")),
            Tree::List(", ", names),
            Tree::from(") SELECT "),
            Tree::List(", ", values),
            Tree::from(" FROM t"),
            self.filter(rng, 60),
            Tree::from(format!(" ORDER BY id LIMIT {}", 1 + rng.below(3))),
        ])
    }

    fn update(&self, rng: &mut Rng) -> Tree {
        let ignore = perhaps(rng, 20, |_| vec![Tree::from(" IGNORE")]);
        Tree::Sequence(vec![
            Tree::from("UPDATE"),
            ignore,
            Tree::from(" t SET "),
            self.assignments(rng),
            self.filter(rng, 80),
            // Which row fails first depends on the order.
            Tree::from(" ORDER BY id"),
            perhaps(rng, 30, |rng| vec![Tree::from(format!(" LIMIT {}", rng.below(4)))]),
        ])
    }

    fn delete(&self, rng: &mut Rng) -> Tree {
        Tree::Sequence(vec![
            Tree::from("DELETE FROM t"),
            self.filter(rng, 95),
            Tree::from(" ORDER BY id"),
            perhaps(rng, 60, |rng| vec![Tree::from(format!(" LIMIT {}", rng.below(4)))]),
        ])
    }

    /// A statement that reads rows.
    pub fn query(&self, rng: &mut Rng) -> Tree {
        match rng.below(20) {
            0..5 => return self.aggregate(rng),
            5 => return self.distinct(rng),
            _ => {}
        }
        let items = (0..1 + rng.below(4))
            .map(|at| Tree::Sequence(vec![self.any(rng), Tree::from(format!(" AS e{at}"))]))
            .collect();
        Tree::Sequence(vec![
            Tree::from("SELECT "),
            Tree::List(", ", items),
            Tree::from(" FROM t"),
            self.filter(rng, 60),
            self.ordered(rng),
        ])
    }

    /// Of values that are written alike if they are equal. No decimals: MariaDB's temporary tables have columns too
    /// narrow for some.
    fn distinct(&self, rng: &mut Rng) -> Tree {
        let items = (0..1 + rng.below(2))
            .map(|at| {
                let class = choose(rng, &[Class::Integer, Class::Date, Class::DateTime, Class::Condition]);
                Tree::Sequence(vec![self.expression(rng, class, 2), Tree::from(format!(" AS e{at}"))])
            })
            .collect();
        Tree::Sequence(vec![
            Tree::from("SELECT DISTINCT "),
            Tree::List(", ", items),
            Tree::from(" FROM t"),
            self.filter(rng, 40),
        ])
    }

    fn aggregate(&self, rng: &mut Rng) -> Tree {
        let templates = [
            "COUNT($x)",
            "COUNT(DISTINCT $q)",
            "SUM($i)",
            "SUM($m)",
            "MIN($i)",
            "MAX($f)",
            "MIN($d)",
            "MAX($t)",
            "SUM(DISTINCT $i)",
            "AVG($i)",
            "AVG($m)",
            "AVG($i / $i)",
            "AVG($f)",
            "SUM($f)",
            "MIN($y)",
            "MAX(LENGTH($s))",
            "COUNT(*)",
            "MAX($c)",
            "MIN(HEX($s))",
            "SUM($g)",
            "AVG($g)",
            "MIN($g)",
            "MAX($g)",
            "MIN(HEX($g))",
            "COUNT(DISTINCT $g)",
        ];
        let mut items: Vec<Tree> = (0..1 + rng.below(3))
            .map(|at| {
                let template = choose(rng, &templates);
                Tree::Sequence(vec![self.fill(rng, Class::Integer, template, 2), Tree::from(format!(" AS a{at}"))])
            })
            .collect();
        let key = choose(rng, &self.columns_to_sort());
        let group = perhaps(rng, 60, |rng| {
            // Which of several equal strings stands for a group is not defined.
            if !matches!(key.class, Class::Text) {
                items.push(Tree::from(key.name.as_str()));
            }
            let having = perhaps(rng, 30, |_| vec![Tree::from(" HAVING COUNT(*) > 1")]);
            vec![Tree::from(format!(" GROUP BY {}", key.name)), having]
        });
        Tree::Sequence(vec![
            Tree::from("SELECT "),
            Tree::List(", ", items),
            Tree::from(" FROM t"),
            self.filter(rng, 40),
            group,
        ])
    }
}
