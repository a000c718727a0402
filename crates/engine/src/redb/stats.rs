//! What the engine did and holds.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ::redb::ReadableTableMetadata;

use super::Inner;
use super::layer::Layer;

/// What is counted as it happens.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) layers_written: AtomicU64,
    pub(super) entries_written: AtomicU64,
    /// Cohorts that waited for a layer to be written.
    pub(super) waits: AtomicU64,
}

pub(super) fn read(inner: &Inner) -> Vec<(&'static str, u64)> {
    let state = inner.state.read();
    let frozen = state.frozen.as_ref();
    let bytes = |layer: &Layer| layer.bytes() as u64;
    let entries = |layer: &Layer| layer.entries() as u64;
    let counts = &inner.counts;
    vec![
        ("layer_bytes", bytes(&state.active)),
        ("layer_entries", entries(&state.active)),
        ("frozen_layer_bytes", frozen.map_or(0, bytes)),
        ("frozen_layer_entries", frozen.map_or(0, entries)),
        ("layers_written", counts.layers_written.load(Relaxed)),
        ("entries_written", counts.entries_written.load(Relaxed)),
        ("write_waits", counts.waits.load(Relaxed)),
        ("log_syncs", inner.syncs.stats().syncs),
        ("prepared", inner.prepared.lock().len() as u64),
        ("write_refused", u64::from(state.refusal.is_some())),
        ("tree_entries", state.tree.rows().len().unwrap_or(0)),
        ("file_bytes", inner.file.len().unwrap_or(0)),
        ("applied_position", state.active.position.0),
        ("durable_position", inner.durable().0),
    ]
}
