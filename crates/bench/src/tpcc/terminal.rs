//! One client: its five transactions, in the specification's mix, without waiting for a human.

use std::time::Instant;

use anyhow::{Context, Result};
use cohort_blackbox::rng::Rng;
use mysql::prelude::{FromRow, Queryable};
use mysql::{Conn, Opts, OptsBuilder, Params};

use super::data::{DISTRICTS, Size, last_name, nurand};

/// A transaction of TPC-C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    /// All, each with how many of a hundred transactions it is.
    pub const MIX: [(Kind, u64); 5] =
        [(Kind::NewOrder, 45), (Kind::Payment, 43), (Kind::OrderStatus, 4), (Kind::Delivery, 4), (Kind::StockLevel, 4)];

    fn any(rng: &mut Rng) -> Kind {
        let mut at = rng.below(100);
        for (kind, share) in Kind::MIX {
            if at < share {
                return kind;
            }
            at -= share;
        }
        unreachable!("the shares make a hundred")
    }
}

/// What became of the transactions of a client, or of several.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Acknowledged, by [`Kind`].
    pub committed: [u64; 5],
    /// The connection went while their COMMIT was on its way, by [`Kind`].
    pub in_doubt: [u64; 5],
    /// New orders of an item that is not there, which end with ROLLBACK.
    pub rolled_back: u64,
    /// Ended by a deadlock or a lock wait timeout, and tried again.
    pub retried: u64,
    /// Of each that was acknowledged, seconds.
    pub latencies: Vec<f64>,
}

impl Totals {
    /// Adds those of another client.
    pub fn add(&mut self, other: Totals) {
        for at in 0..self.committed.len() {
            self.committed[at] += other.committed[at];
            self.in_doubt[at] += other.in_doubt[at];
        }
        self.rolled_back += other.rolled_back;
        self.retried += other.retried;
        self.latencies.extend(other.latencies);
    }
}

/// How a transaction ended that the server did not end.
enum End {
    Committed,
    RolledBack,
}

/// A client at one warehouse.
pub struct Terminal {
    conn: Conn,
    rng: Rng,
    size: Size,
    warehouse: u32,
    /// Whether COMMIT was sent and not answered.
    committing: bool,
    pub totals: Totals,
}

impl Terminal {
    /// Connects to a database that [`super::data::load`] has filled.
    pub fn new(opts: &Opts, size: Size, number: u32, seed: u64) -> Result<Terminal> {
        let opts = OptsBuilder::from_opts(opts.clone()).stmt_cache_size(Some(64));
        let conn = Conn::new(opts)?;
        let warehouse = number % size.warehouses + 1;
        let rng = Rng::stream(seed, u64::from(number) + 1000);
        Ok(Terminal { conn, rng, size, warehouse, committing: false, totals: Totals::default() })
    }

    /// Runs one transaction of the mix to its end. An error means that the connection is of no more use.
    pub fn step(&mut self) -> Result<()> {
        let kind = Kind::any(&mut self.rng);
        let begun = Instant::now();
        loop {
            let end = match kind {
                Kind::NewOrder => self.new_order(),
                Kind::Payment => self.payment(),
                Kind::OrderStatus => self.order_status(),
                Kind::Delivery => self.delivery(),
                Kind::StockLevel => self.stock_level(),
            };
            match end {
                Ok(End::Committed) => {
                    self.totals.committed[kind as usize] += 1;
                    self.totals.latencies.push(begun.elapsed().as_secs_f64());
                    return Ok(());
                }
                Ok(End::RolledBack) => {
                    self.totals.rolled_back += 1;
                    return Ok(());
                }
                Err(error) if lost_a_lock(&error) => {
                    self.conn.query_drop("ROLLBACK")?;
                    self.committing = false;
                    self.totals.retried += 1;
                }
                Err(error) => {
                    // What the server refused is not in doubt.
                    let refused =
                        error.chain().any(|cause| matches!(cause.downcast_ref(), Some(mysql::Error::MySqlError(_))));
                    if self.committing && !refused {
                        self.totals.in_doubt[kind as usize] += 1;
                    }
                    return Err(error.context(format!("{kind:?}")));
                }
            }
        }
    }

    fn run(&mut self, statement: &str, parameters: impl Into<Params>) -> Result<()> {
        self.conn.exec_drop(statement, parameters).with_context(|| statement.to_owned())
    }

    fn row<T: FromRow>(&mut self, statement: &str, parameters: impl Into<Params>) -> Result<T> {
        let row = self.conn.exec_first(statement, parameters).with_context(|| statement.to_owned())?;
        row.with_context(|| format!("no row: {statement}"))
    }

    fn begin(&mut self) -> Result<()> {
        Ok(self.conn.query_drop("BEGIN")?)
    }

    fn commit(&mut self) -> Result<End> {
        self.committing = true;
        self.conn.query_drop("COMMIT")?;
        self.committing = false;
        Ok(End::Committed)
    }

    fn district(&mut self) -> u32 {
        1 + self.rng.below(DISTRICTS.into()) as u32
    }

    fn customer(&mut self) -> u32 {
        nurand(&mut self.rng, 1023, 1, self.size.customers)
    }

    /// This warehouse, or another one in so many of a thousand cases.
    fn supplier(&mut self, others: u64) -> u32 {
        if self.size.warehouses == 1 || self.rng.below(1000) >= others {
            return self.warehouse;
        }
        let other = 1 + self.rng.below(u64::from(self.size.warehouses) - 1) as u32;
        if other >= self.warehouse { other + 1 } else { other }
    }

    fn new_order(&mut self) -> Result<End> {
        let (w, d, c) = (self.warehouse, self.district(), self.customer());
        let count = 5 + self.rng.below(11) as u32;
        let failing = self.rng.chance(1);
        // In the order of their keys, so that two orders do not wait for each other's stock.
        let mut lines: Vec<(u32, u32, u32)> = (0..count)
            .map(|_| {
                (self.supplier(10), nurand(&mut self.rng, 8191, 1, self.size.items), 1 + self.rng.below(10) as u32)
            })
            .collect();
        lines.sort_unstable();
        if failing {
            lines.last_mut().expect("five lines at least").1 = self.size.items + 1;
        }
        let local = u32::from(lines.iter().all(|(from, _, _)| *from == w));

        self.begin()?;
        let (discount, w_tax): (f64, f64) = self.row(
            "SELECT c_discount, w_tax FROM warehouse, customer WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
            (w, d, c),
        )?;
        let (o, d_tax): (u32, f64) =
            self.row("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE", (w, d))?;
        self.run("UPDATE district SET d_next_o_id = ? + 1 WHERE d_w_id = ? AND d_id = ?", (o, w, d))?;
        self.run("INSERT INTO orders VALUES (?, ?, ?, ?, NOW(), NULL, ?, ?)", (o, d, w, c, count, local))?;
        self.run("INSERT INTO new_order VALUES (?, ?, ?)", (o, d, w))?;
        let mut total = 0.0;
        for (number, (from, item, quantity)) in (1u32..).zip(lines) {
            let found: Option<(f64, String)> =
                self.conn.exec_first("SELECT i_price, i_data FROM item WHERE i_id = ?", (item,))?;
            let Some((price, _)) = found else {
                self.conn.query_drop("ROLLBACK")?;
                return Ok(End::RolledBack);
            };
            let (stock, info): (i64, String) = self
                .row("SELECT s_quantity, s_dist FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE", (from, item))?;
            let left = stock - i64::from(quantity);
            let left = if left >= 10 { left } else { left + 91 };
            self.run(
                "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
                 s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
                (left, quantity, u32::from(from != w), from, item),
            )?;
            let amount = price * f64::from(quantity);
            total += amount * (1.0 - discount) * (1.0 + w_tax + d_tax);
            self.run(
                "INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
                (o, d, w, number, item, from, quantity, format!("{amount:.2}"), info),
            )?;
        }
        debug_assert!(total > 0.0);
        self.commit()
    }

    /// The customer of a last name, the one in the middle by first name; or of a number, in 40 of 100 cases.
    fn someone(&mut self, w: u32, d: u32) -> Result<u32> {
        if self.rng.chance(40) {
            return Ok(self.customer());
        }
        let most = self.size.customers.min(1000) - 1;
        let last = last_name(nurand(&mut self.rng, 255, 0, most));
        let found: Vec<u32> = self.conn.exec(
            "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
            (w, d, &last),
        )?;
        found.get(found.len() / 2).copied().with_context(|| format!("nobody's name is {last}"))
    }

    fn payment(&mut self) -> Result<End> {
        let (w, d) = (self.warehouse, self.district());
        let (of_w, of_d) = (self.supplier(150), self.district());
        let cents = 100 + self.rng.below(499_901);
        let amount = format!("{}.{:02}", cents / 100, cents % 100);
        self.begin()?;
        self.run("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", (&amount, w))?;
        let at: String = self.row("SELECT w_name FROM warehouse WHERE w_id = ?", (w,))?;
        self.run("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", (&amount, w, d))?;
        let within: String = self.row("SELECT d_name FROM district WHERE d_w_id = ? AND d_id = ?", (w, d))?;
        let c = self.someone(of_w, of_d)?;
        let (credit, data): (String, String) = self.row(
            "SELECT c_credit, c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
            (of_w, of_d, c),
        )?;
        let data = match credit.as_str() {
            "BC" => format!("{c} {of_d} {of_w} {d} {w} {amount} {data}").chars().take(500).collect(),
            _ => data,
        };
        self.run(
            "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
             c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            (&amount, &amount, data, of_w, of_d, c),
        )?;
        self.run(
            "INSERT INTO history VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
            (c, of_d, of_w, d, w, &amount, format!("{at}    {within}")),
        )?;
        self.commit()
    }

    fn order_status(&mut self) -> Result<End> {
        let (w, d) = (self.warehouse, self.district());
        self.begin()?;
        let c = self.someone(w, d)?;
        let _: (String, String) = self
            .row("SELECT c_balance, c_first FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", (w, d, c))?;
        let last: Option<(u32, Option<u32>)> = self.conn.exec_first(
            "SELECT o_id, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
            (w, d, c),
        )?;
        if let Some((o, _)) = last {
            self.run(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                (w, d, o),
            )?;
        }
        self.commit()
    }

    fn delivery(&mut self) -> Result<End> {
        let (w, carrier) = (self.warehouse, 1 + self.rng.below(10));
        self.begin()?;
        for d in 1..=DISTRICTS {
            let oldest: Option<u32> = self.conn.exec_first(
                "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
                (w, d),
            )?;
            let Some(o) = oldest else { continue };
            self.run("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", (w, d, o))?;
            // A locking read, as it is the first one of this order: the snapshot of the transaction may be older than the
            // order, where the locking read before it found one that came since.
            let c: u32 = self
                .row("SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? FOR UPDATE", (w, d, o))?;
            self.run(
                "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
                (carrier, w, d, o),
            )?;
            self.run(
                "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                (w, d, o),
            )?;
            let amount: String = self.row(
                "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                (w, d, o),
            )?;
            self.run(
                "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                (amount, w, d, c),
            )?;
        }
        self.commit()
    }

    fn stock_level(&mut self) -> Result<End> {
        let (w, d, threshold) = (self.warehouse, self.district(), 10 + self.rng.below(11));
        self.begin()?;
        let next: u32 = self.row("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", (w, d))?;
        let _: u64 = self.row(
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? \
             AND ol_o_id >= ? AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
            (w, d, next, next.saturating_sub(20), w, threshold),
        )?;
        self.commit()
    }
}

/// Whether a deadlock (1213) or a lock wait timeout (1205) ended the statement.
fn lost_a_lock(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| match cause.downcast_ref() {
        Some(mysql::Error::MySqlError(error)) => matches!(error.code, 1213 | 1205),
        _ => false,
    })
}
