//! The tables of TPC-H and their rows.

use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::Result;
use mysql::Conn;
use mysql::prelude::Queryable;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

use crate::rows::Rows;

/// A table: its columns and keys, those of the specification's foreign keys and of the dates that queries ask for.
#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    definition: &'static str,
}

/// All of them, each after those its keys are of.
pub const TABLES: [Table; 8] = [
    Table {
        name: "region",
        definition: "r_regionkey INT NOT NULL PRIMARY KEY, r_name CHAR(25) NOT NULL, r_comment VARCHAR(152)",
    },
    Table {
        name: "nation",
        definition: "n_nationkey INT NOT NULL PRIMARY KEY, n_name CHAR(25) NOT NULL, n_regionkey INT NOT NULL, \
                     n_comment VARCHAR(152), KEY (n_regionkey)",
    },
    Table {
        name: "part",
        definition: "p_partkey INT NOT NULL PRIMARY KEY, p_name VARCHAR(55) NOT NULL, p_mfgr CHAR(25) NOT NULL, \
                     p_brand CHAR(10) NOT NULL, p_type VARCHAR(25) NOT NULL, p_size INT NOT NULL, \
                     p_container CHAR(10) NOT NULL, p_retailprice DECIMAL(15,2) NOT NULL, p_comment VARCHAR(23) NOT NULL",
    },
    Table {
        name: "supplier",
        definition: "s_suppkey INT NOT NULL PRIMARY KEY, s_name CHAR(25) NOT NULL, s_address VARCHAR(40) NOT NULL, \
                     s_nationkey INT NOT NULL, s_phone CHAR(15) NOT NULL, s_acctbal DECIMAL(15,2) NOT NULL, \
                     s_comment VARCHAR(101) NOT NULL, KEY (s_nationkey)",
    },
    Table {
        name: "partsupp",
        definition: "ps_partkey INT NOT NULL, ps_suppkey INT NOT NULL, ps_availqty INT NOT NULL, \
                     ps_supplycost DECIMAL(15,2) NOT NULL, ps_comment VARCHAR(199) NOT NULL, \
                     PRIMARY KEY (ps_partkey, ps_suppkey), KEY (ps_suppkey)",
    },
    Table {
        name: "customer",
        definition: "c_custkey INT NOT NULL PRIMARY KEY, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(40) NOT NULL, \
                     c_nationkey INT NOT NULL, c_phone CHAR(15) NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL, \
                     c_mktsegment CHAR(10) NOT NULL, c_comment VARCHAR(117) NOT NULL, KEY (c_nationkey)",
    },
    Table {
        name: "orders",
        definition: "o_orderkey INT NOT NULL PRIMARY KEY, o_custkey INT NOT NULL, o_orderstatus CHAR(1) NOT NULL, \
                     o_totalprice DECIMAL(15,2) NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority CHAR(15) NOT NULL, \
                     o_clerk CHAR(15) NOT NULL, o_shippriority INT NOT NULL, o_comment VARCHAR(79) NOT NULL, \
                     KEY (o_custkey), KEY (o_orderdate)",
    },
    Table {
        name: "lineitem",
        definition: "l_orderkey INT NOT NULL, l_partkey INT NOT NULL, l_suppkey INT NOT NULL, l_linenumber INT NOT NULL, \
                     l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL, \
                     l_discount DECIMAL(15,2) NOT NULL, l_tax DECIMAL(15,2) NOT NULL, l_returnflag CHAR(1) NOT NULL, \
                     l_linestatus CHAR(1) NOT NULL, l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, \
                     l_receiptdate DATE NOT NULL, l_shipinstruct CHAR(25) NOT NULL, l_shipmode CHAR(10) NOT NULL, \
                     l_comment VARCHAR(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber), \
                     KEY (l_partkey, l_suppkey), KEY (l_suppkey), KEY (l_shipdate)",
    },
];

/// A collation that both servers have; columns are told apart by their case nowhere.
const COLLATION: &str = "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";

/// Creates all tables in the connection's database and fills them; returns how many rows they have.
pub fn load(conn: &mut Conn, scale: f64) -> Result<u64> {
    for table in &TABLES {
        conn.query_drop(format!("CREATE TABLE {} ({}) {COLLATION}", table.name, table.definition))?;
    }
    let mut rows = 0;
    rows += fill(conn, "region", RegionGenerator::new(scale, 1, 1).iter())?;
    rows += fill(conn, "nation", NationGenerator::new(scale, 1, 1).iter())?;
    rows += fill(conn, "part", PartGenerator::new(scale, 1, 1).iter())?;
    rows += fill(conn, "supplier", SupplierGenerator::new(scale, 1, 1).iter())?;
    rows += fill(conn, "partsupp", PartSuppGenerator::new(scale, 1, 1).iter())?;
    rows += fill(conn, "customer", CustomerGenerator::new(scale, 1, 1).iter())?;
    rows += fill(conn, "orders", OrderGenerator::new(scale, 1, 1).iter())?;
    rows += fill(conn, "lineitem", LineItemGenerator::new(scale, 1, 1).iter())?;
    Ok(rows)
}

/// Puts rows, written as `a|b|c|`, into a table.
fn fill(conn: &mut Conn, table: &'static str, rows: impl Iterator<Item = impl Display>) -> Result<u64> {
    let mut out = Rows::new(conn, table);
    for row in rows {
        // The generator's texts have neither quotes nor backslashes.
        out.add(format_args!("'{}'", row.to_string().trim_end_matches('|').replace('|', "', '")))?;
    }
    out.finish()
}

/// Updates rows all over the largest tables for `seconds`, each to what it was in the end.
pub fn age(conn: &mut Conn, seconds: u32) -> Result<()> {
    let most: Option<u64> = conn.query_first("SELECT MAX(o_orderkey) FROM orders")?;
    let most = most.unwrap_or(0).max(1);
    let end = Instant::now() + Duration::from_secs(seconds.into());
    let mut key = 1;
    while Instant::now() < end {
        key = (key + 7_919_777) % most;
        for change in [1, -1] {
            conn.query_drop(format!(
                "UPDATE lineitem SET l_quantity = l_quantity + {change}, l_shipdate = l_shipdate + INTERVAL {change} DAY \
                 WHERE l_orderkey BETWEEN {key} AND {key} + 20"
            ))?;
            conn.query_drop(format!(
                "UPDATE orders SET o_shippriority = o_shippriority + {change} WHERE o_orderkey BETWEEN {key} AND {key} + 20"
            ))?;
        }
    }
    Ok(())
}
