//! The nine tables of TPC-C, and the rows they begin with.

use std::thread;

use anyhow::Result;
use cohort_blackbox::rng::Rng;
use mysql::prelude::Queryable;
use mysql::{Conn, Opts};

use crate::rows::Rows;

/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;

/// What a customer has paid, and every district and warehouse has got of each, at the beginning.
const OPENING_PAYMENT: u32 = 10;

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    pub warehouses: u32,
    /// Items, each in every warehouse's stock.
    pub items: u32,
    /// Customers of a district. As many have ordered at the beginning.
    pub customers: u32,
}

impl Size {
    /// What the specification asks of so many warehouses.
    pub fn full(warehouses: u32) -> Size {
        Size { warehouses, items: 100_000, customers: 3000 }
    }

    /// Orders of a district that are delivered at the beginning; the newest, three of ten, are not.
    pub fn delivered(&self) -> u32 {
        self.customers - self.customers * 3 / 10
    }
}

/// Name and columns, in the order they are filled.
pub const TABLES: [(&str, &str); 9] = [
    (
        "item",
        "i_id INT PRIMARY KEY, i_im_id INT NOT NULL, i_name VARCHAR(24) NOT NULL, i_price DECIMAL(5,2) NOT NULL, \
         i_data VARCHAR(50) NOT NULL",
    ),
    (
        "warehouse",
        "w_id INT PRIMARY KEY, w_name VARCHAR(10) NOT NULL, w_street VARCHAR(20) NOT NULL, w_city VARCHAR(20) NOT NULL, \
         w_state CHAR(2) NOT NULL, w_zip CHAR(9) NOT NULL, w_tax DECIMAL(4,4) NOT NULL, w_ytd DECIMAL(12,2) NOT NULL",
    ),
    (
        "stock",
        "s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT NOT NULL, s_dist CHAR(24) NOT NULL, \
         s_ytd INT NOT NULL, s_order_cnt INT NOT NULL, s_remote_cnt INT NOT NULL, s_data VARCHAR(250) NOT NULL, \
         PRIMARY KEY (s_w_id, s_i_id)",
    ),
    (
        "district",
        "d_id INT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10) NOT NULL, d_street VARCHAR(20) NOT NULL, \
         d_city VARCHAR(20) NOT NULL, d_state CHAR(2) NOT NULL, d_zip CHAR(9) NOT NULL, d_tax DECIMAL(4,4) NOT NULL, \
         d_ytd DECIMAL(12,2) NOT NULL, d_next_o_id INT NOT NULL, PRIMARY KEY (d_w_id, d_id)",
    ),
    (
        "customer",
        "c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL, c_first VARCHAR(16) NOT NULL, \
         c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, c_street VARCHAR(20) NOT NULL, \
         c_city VARCHAR(20) NOT NULL, c_state CHAR(2) NOT NULL, c_zip CHAR(9) NOT NULL, c_phone CHAR(16) NOT NULL, \
         c_since DATETIME NOT NULL, c_credit CHAR(2) NOT NULL, c_credit_lim DECIMAL(12,2) NOT NULL, \
         c_discount DECIMAL(4,4) NOT NULL, c_balance DECIMAL(12,2) NOT NULL, c_ytd_payment DECIMAL(12,2) NOT NULL, \
         c_payment_cnt INT NOT NULL, c_delivery_cnt INT NOT NULL, c_data VARCHAR(500) NOT NULL, \
         PRIMARY KEY (c_w_id, c_d_id, c_id), KEY (c_w_id, c_d_id, c_last, c_first)",
    ),
    (
        "history",
        "h_c_id INT NOT NULL, h_c_d_id INT NOT NULL, h_c_w_id INT NOT NULL, h_d_id INT NOT NULL, h_w_id INT NOT NULL, \
         h_date DATETIME NOT NULL, h_amount DECIMAL(6,2) NOT NULL, h_data VARCHAR(24) NOT NULL",
    ),
    (
        "orders",
        "o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT NOT NULL, o_entry_d DATETIME NOT NULL, \
         o_carrier_id INT, o_ol_cnt INT NOT NULL, o_all_local INT NOT NULL, PRIMARY KEY (o_w_id, o_d_id, o_id), \
         KEY (o_w_id, o_d_id, o_c_id, o_id)",
    ),
    (
        "new_order",
        "no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    ),
    (
        "order_line",
        "ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL, ol_number INT NOT NULL, ol_i_id INT NOT NULL, \
         ol_supply_w_id INT NOT NULL, ol_delivery_d DATETIME, ol_quantity INT NOT NULL, ol_amount DECIMAL(6,2) NOT NULL, \
         ol_dist_info CHAR(24) NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    ),
];

/// A last name: three of ten syllables.
pub fn last_name(number: u32) -> String {
    const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    [number / 100 % 10, number / 10 % 10, number % 10].map(|at| SYLLABLES[at as usize]).concat()
}

/// Letters of the lower case, so many.
fn text(rng: &mut Rng, length: u64) -> String {
    (0..length).map(|_| char::from(b'a' + rng.below(26) as u8)).collect()
}

/// Creates the tables, the one at `at` in the engine `engine(at)`, and fills them, several warehouses at once.
pub fn load(opts: &Opts, size: Size, engine: impl Fn(usize) -> &'static str, seed: u64) -> Result<()> {
    let mut conn = Conn::new(opts.clone())?;
    for (at, (name, columns)) in TABLES.iter().enumerate() {
        conn.query_drop(format!("CREATE TABLE {name} ({columns}) ENGINE={}", engine(at)))?;
    }
    let mut rng = Rng::new(seed);
    let mut items = Rows::new(&mut conn, "item");
    for id in 1..=size.items {
        let (cents, name, data) = (100 + rng.below(9900), text(&mut rng, 14), text(&mut rng, 30));
        items.add(format_args!(
            "{id}, {}, '{name}', {}.{:02}, '{data}'",
            rng.below(10_000),
            cents / 100,
            cents % 100
        ))?;
    }
    items.finish()?;
    let loaders = thread::available_parallelism()?.get() as u32;
    thread::scope(|scope| {
        let loaders: Vec<_> = (0..loaders)
            .map(|loader| {
                scope.spawn(move || -> Result<()> {
                    let mut conn = Conn::new(opts.clone())?;
                    for warehouse in (1..=size.warehouses).filter(|id| id % loaders == loader) {
                        fill_warehouse(&mut conn, warehouse, size, &mut Rng::stream(seed, warehouse.into()))?;
                    }
                    Ok(())
                })
            })
            .collect();
        loaders.into_iter().try_for_each(|loader| loader.join().expect("a loader panicked"))
    })
}

fn fill_warehouse(conn: &mut Conn, w: u32, size: Size, rng: &mut Rng) -> Result<()> {
    let opening = OPENING_PAYMENT * size.customers;
    let place = |rng: &mut Rng| format!("'{}', '{}', 'NY', '123411111'", text(rng, 15), text(rng, 15));
    let mut rows = Rows::new(conn, "warehouse");
    rows.add(format_args!("{w}, 'w{w}', {}, 0.{:04}, {}", place(rng), rng.below(2001), opening * DISTRICTS))?;
    rows.finish()?;
    let mut rows = Rows::new(conn, "stock");
    for item in 1..=size.items {
        let (quantity, info, data) = (10 + rng.below(91), text(rng, 24), text(rng, 40));
        rows.add(format_args!("{item}, {w}, {quantity}, '{info}', 0, 0, 0, '{data}'"))?;
    }
    rows.finish()?;
    let mut rows = Rows::new(conn, "district");
    for d in 1..=DISTRICTS {
        let (place, tax) = (place(rng), rng.below(2001));
        rows.add(format_args!("{d}, {w}, 'd{d}', {place}, 0.{tax:04}, {opening}, {}", size.customers + 1))?;
    }
    rows.finish()?;
    for d in 1..=DISTRICTS {
        fill_district(conn, w, d, size, rng)?;
    }
    Ok(())
}

fn fill_district(conn: &mut Conn, w: u32, d: u32, size: Size, rng: &mut Rng) -> Result<()> {
    let paid = OPENING_PAYMENT;
    let mut rows = Rows::new(conn, "customer");
    for c in 1..=size.customers {
        let last = last_name(if c <= 1000 { c - 1 } else { nurand(rng, 255, 0, 999) });
        let (first, credit) = (text(rng, 10), if rng.chance(10) { "BC" } else { "GC" });
        let (place, discount) =
            (format!("'{}', '{}', 'NY', '123411111'", text(rng, 15), text(rng, 15)), rng.below(5001));
        rows.add(format_args!(
            "{c}, {d}, {w}, '{first}', 'OE', '{last}', {place}, '0123456789012345', NOW(), '{credit}', 50000, \
             0.{discount:04}, -{paid}, {paid}, 1, 0, '{}'",
            text(rng, 300)
        ))?;
    }
    rows.finish()?;
    let mut rows = Rows::new(conn, "history");
    for c in 1..=size.customers {
        rows.add(format_args!("{c}, {d}, {w}, {d}, {w}, NOW(), {paid}, '{}'", text(rng, 15)))?;
    }
    rows.finish()?;

    // Each customer has ordered once, in any order.
    let mut buyers: Vec<u32> = (1..=size.customers).collect();
    for at in (1..buyers.len()).rev() {
        buyers.swap(at, rng.below(at as u64 + 1) as usize);
    }
    let counts: Vec<u64> = buyers.iter().map(|_| 5 + rng.below(11)).collect();
    let delivered = size.delivered();
    let mut rows = Rows::new(conn, "orders");
    for ((o, buyer), count) in (1..).zip(&buyers).zip(&counts) {
        let carrier = if o <= delivered { (1 + rng.below(10)).to_string() } else { "NULL".to_owned() };
        rows.add(format_args!("{o}, {d}, {w}, {buyer}, NOW(), {carrier}, {count}, 1"))?;
    }
    rows.finish()?;
    let mut rows = Rows::new(conn, "new_order");
    for o in delivered + 1..=size.customers {
        rows.add(format_args!("{o}, {d}, {w}"))?;
    }
    rows.finish()?;
    let mut rows = Rows::new(conn, "order_line");
    for (o, count) in (1..).zip(&counts) {
        for line in 1..=*count {
            let (item, info) = (1 + rng.below(size.items.into()), text(rng, 24));
            let (when, cents) = if o <= delivered { ("NOW()", 0) } else { ("NULL", 1 + rng.below(999_999)) };
            rows.add(format_args!(
                "{o}, {d}, {w}, {line}, {item}, {w}, {when}, 5, {}.{:02}, '{info}'",
                cents / 100,
                cents % 100
            ))?;
        }
    }
    rows.finish()?;
    Ok(())
}

/// A number of `low..=high`, some of them much more often: the specification's NURand with the constant 123.
pub fn nurand(rng: &mut Rng, a: u32, low: u32, high: u32) -> u32 {
    let one = rng.below(u64::from(a) + 1) as u32;
    let other = low + rng.below(u64::from(high - low) + 1) as u32;
    ((one | other) + 123) % (high - low + 1) + low
}
