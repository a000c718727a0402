use cohort_io::SimDisk;

use super::*;
use crate::classic::tests::open;
use crate::commit_protocol::CommitProtocol;
use crate::tests::Kept;

/// I9: an answer goes out if and only if everything up to what it rests on is durable, in whatever order flushes end.
#[test]
fn answers_wait_for_the_oldest_flush_and_for_none_after_what_they_saw() {
    let (store, _) = open(&SimDisk::new(1), CommitProtocol::Mysql57).expect("a new store");
    let coordinator = store.path::<ClassicCoordinator>();
    let member = |order| Member { order, ..Member::new(Vec::new(), None, 0) };
    for orders in [[3, 5, 7], [3, 7, 5], [5, 3, 7], [5, 7, 3], [7, 3, 5], [7, 5, 3]] {
        orders.iter().for_each(|order| coordinator.begin_undurable(&member(*order)));
        let seen = [None, Some(2), Some(3), Some(4), Some(5), Some(7), Some(8)];
        let answers = seen.map(|seen| {
            let kept = Kept::default();
            coordinator.when_durable(seen, Box::new(kept.clone()));
            kept
        });
        let mut left = BTreeSet::from(orders);
        for ended in [None].into_iter().chain(orders.map(Some)) {
            if let Some(ended) = ended {
                coordinator.end_undurable(&member(ended));
                left.remove(&ended);
            }
            for (seen, answer) in seen.iter().zip(&answers) {
                let durable = seen.is_none_or(|seen| left.first().is_none_or(|oldest| seen < *oldest));
                let context = format!("flushes end as {orders:?}, {left:?} are left, {seen:?} was seen");
                assert_eq!(matches!(*answer.0.lock(), Some(Ok(_))), durable, "{context}");
                assert!(seen.is_none_or(|seen| coordinator.is_durable(seen) == durable), "{context}");
            }
        }
    }
}
