//! Who must have come before whom, and whether that is possible: the dependency graph of Elle (Kingsbury and
//! Alvaro, 2020), which list-append makes recoverable from what was read.
//!
//! Edges: `ww`, an element directly after another's; `wr`, reading a list that ends with an element; `rw`,
//! reading a list that lacks the next element; for ranges, `wr` from whoever put an item that was found, and `rw` to
//! whoever put one that was not; `rt`, a transaction that was acknowledged before another began.
//! A cycle is a violation of strict serialisability. For [`Shape::Mixed`] no `rw` edge begins: its plain reads
//! may be older than what it writes to, and a cycle without them is none of REPEATABLE READ's either.

use std::collections::HashMap;

use crate::history::{Put, Record};
use crate::workload::Shape;

/// An edge's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    WriteWrite,
    WriteRead,
    ReadWrite,
    RealTime,
}

/// Looks for a cycle among committed transactions; `lists` are the final ones. An error shows the cycle.
pub fn check(committed: &[&Record], lists: &HashMap<u64, Vec<u64>>) -> Result<(), String> {
    let graph = graph(committed, lists);
    let Some(cycle) = find_cycle(&graph) else { return Ok(()) };
    let mut text = String::from("a cycle:");
    for (node, edge) in cycle {
        let record = committed[node];
        text += &format!(
            "\n  transaction {} {:?} {:?} saw {:?} at {}..{}, {edge:?} to the next",
            record.id, record.script.shape, record.script.steps, record.seen, record.began, record.ended
        );
    }
    Err(text)
}

fn graph(committed: &[&Record], lists: &HashMap<u64, Vec<u64>>) -> Vec<Vec<(usize, Edge)>> {
    let mut edges = vec![Vec::new(); committed.len()];
    let writer_of: HashMap<u64, usize> = committed
        .iter()
        .enumerate()
        .flat_map(|(node, record)| record.appends().map(move |(_, element)| (element, node)))
        .collect();
    let mut add = |from: usize, to: usize, edge: Edge| {
        if from != to {
            edges[from].push((to, edge));
        }
    };
    for list in lists.values() {
        for pair in list.windows(2) {
            if let (Some(first), Some(second)) = (writer_of.get(&pair[0]), writer_of.get(&pair[1])) {
                add(*first, *second, Edge::WriteWrite);
            }
        }
    }
    let puts: Vec<(usize, Put)> =
        committed.iter().enumerate().flat_map(|(node, record)| record.puts().map(move |put| (node, put))).collect();
    for (node, record) in committed.iter().enumerate() {
        for (range, items) in record.ranges() {
            for (writer, put) in puts.iter().filter(|(_, put)| range.has(*put)) {
                if items.contains(&put.item) {
                    add(*writer, node, Edge::WriteRead);
                } else if record.script.shape != Shape::Mixed {
                    add(node, *writer, Edge::ReadWrite);
                }
            }
        }
        for (list, elements) in record.reads() {
            if let Some(writer) = elements.last().and_then(|element| writer_of.get(element)) {
                add(*writer, node, Edge::WriteRead);
            }
            let next = lists.get(&list).and_then(|list| list.get(elements.len()));
            if let Some(writer) = next.and_then(|element| writer_of.get(element))
                && record.script.shape != Shape::Mixed
            {
                add(node, *writer, Edge::ReadWrite);
            }
        }
        for (later, other) in committed.iter().enumerate() {
            if record.ended < other.began {
                add(node, later, Edge::RealTime);
            }
        }
    }
    edges
}

/// A cycle as nodes, each with the edge to the next, if there is one: depth first, without recursion.
fn find_cycle(edges: &[Vec<(usize, Edge)>]) -> Option<Vec<(usize, Edge)>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    let mut marks = vec![Mark::New; edges.len()];
    for start in 0..edges.len() {
        // Nodes on the path, each with the number of the edge that is followed.
        let mut path: Vec<(usize, usize)> = Vec::new();
        if marks[start] == Mark::New {
            marks[start] = Mark::OnPath;
            path.push((start, 0));
        }
        while let Some((node, next)) = path.last_mut() {
            let Some((to, _)) = edges[*node].get(*next) else {
                marks[*node] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[*to] {
                Mark::Done => {}
                Mark::New => {
                    marks[*to] = Mark::OnPath;
                    path.push((*to, 0));
                }
                Mark::OnPath => {
                    let begin = path.iter().position(|(node, _)| node == to).expect("a marked node is on the path");
                    return Some(path[begin..].iter().map(|(node, next)| (*node, edges[*node][next - 1].1)).collect());
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Fate, Seen};
    use crate::workload::{ReadKind, Script, Step};

    fn append(list: u64, element: u64) -> (Step, Seen) {
        (Step::Append { list, element }, Seen::Done)
    }

    fn read(list: u64, elements: &[u64]) -> (Step, Seen) {
        (Step::Read { list, read: ReadKind::Shared }, Seen::List(elements.to_vec()))
    }

    fn record(id: u64, times: (u64, u64), did: Vec<(Step, Seen)>) -> Record {
        let (steps, seen) = did.into_iter().unzip();
        let script = Script { shape: Shape::Locking, steps, autocommit: false, rolled_back: false };
        Record { id, script, seen, began: times.0, ended: times.1, fate: Fate::Committed }
    }

    fn judge(records: &[Record], lists: &[(u64, &[u64])]) -> Result<(), String> {
        let lists = lists.iter().map(|(list, elements)| (*list, elements.to_vec())).collect();
        check(&records.iter().collect::<Vec<_>>(), &lists)
    }

    #[test]
    fn serial_transactions_have_no_cycle() {
        let records = [
            record(1, (0, 1), vec![append(0, 10)]),
            record(2, (2, 3), vec![read(0, &[10]), append(1, 20)]),
            record(3, (4, 5), vec![read(1, &[20]), read(0, &[10])]),
        ];
        judge(&records, &[(0, &[10]), (1, &[20])]).expect("no cycle");
    }

    #[test]
    fn write_skew_is_a_cycle() {
        let records = [
            record(1, (0, 9), vec![read(0, &[]), append(1, 10)]),
            record(2, (0, 9), vec![read(1, &[]), append(0, 20)]),
        ];
        judge(&records, &[(0, &[20]), (1, &[10])]).expect_err("write skew");
    }

    #[test]
    fn phantoms_are_a_cycle() {
        let put = |item, place| (Step::Put { engine: 0, item, place }, Seen::Done);
        let range = |from, to, items: &[u64]| {
            let step = Step::Range { engine: 0, from, to, read: ReadKind::Plain, by_index: true };
            (step, Seen::Items(items.to_vec()))
        };
        let skew = [
            record(1, (0, 9), vec![range(0, 4, &[]), put(10, 7)]),
            record(2, (0, 9), vec![range(5, 9, &[]), put(20, 3)]),
        ];
        judge(&skew, &[]).expect_err("each missed what the other put");
        let serial = [
            record(1, (0, 9), vec![range(0, 4, &[]), put(10, 7)]),
            record(2, (0, 9), vec![range(5, 9, &[10]), put(20, 3)]),
        ];
        judge(&serial, &[]).expect("the second one came second");
        let stale = [record(1, (0, 1), vec![put(10, 7)]), record(2, (2, 3), vec![range(7, 7, &[])])];
        judge(&stale, &[]).expect_err("a range that misses what was acknowledged before");
    }

    #[test]
    fn appends_in_two_orders_are_a_cycle() {
        let records = [
            record(1, (0, 9), vec![append(0, 10), append(1, 11)]),
            record(2, (0, 9), vec![append(0, 20), append(1, 21)]),
        ];
        judge(&records, &[(0, &[10, 20]), (1, &[21, 11])]).expect_err("dirty writes");
        judge(&records, &[(0, &[10, 20]), (1, &[11, 21])]).expect("one order");
    }

    #[test]
    fn a_read_that_misses_what_was_acknowledged_before_is_a_cycle() {
        let records = [record(1, (0, 1), vec![append(0, 10)]), record(2, (2, 3), vec![read(0, &[])])];
        judge(&records, &[(0, &[10])]).expect_err("a stale read");
    }
}
