//! How much memory the server may use: the machine's, or less where its control group says so.

use std::fs;
use std::path::Path;

/// Taken for the machine's memory where it cannot be found out, bytes.
const UNKNOWN: u64 = 1 << 30;

/// The memory that this process may use, bytes.
pub fn usable_bytes() -> u64 {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().flat_map(|line| group_limits(line, Path::new("/sys/fs/cgroup")));
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    limits.chain(machine).min().unwrap_or(UNKNOWN)
}

/// The first line of `/proc/meminfo`: `MemTotal:       16384 kB`.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// The limits of a control group and those above it. `line` is `0::/path` (version 2) or `4:memory:/path`.
fn group_limits(line: &str, root: &Path) -> Vec<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (root, file) = match controllers {
        "" => (root.to_owned(), "memory.max"),
        list if list.split(',').any(|name| name == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
        _ => return Vec::new(),
    };
    let group = root.join(path.trim_start_matches('/'));
    let above = group.ancestors().take_while(|dir| dir.starts_with(&root));
    // "max" is no number, and no limit.
    above.filter_map(|dir| fs::read_to_string(dir.join(file)).ok()?.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_above_a_group_counts() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("a/b");
        fs::create_dir_all(&group).unwrap();
        fs::write(root.path().join("a/memory.max"), "1073741824\n").unwrap();
        fs::write(group.join("memory.max"), "max\n").unwrap();
        assert_eq!(group_limits("0::/a/b", root.path()), [1 << 30]);
        fs::create_dir_all(root.path().join("memory/c")).unwrap();
        fs::write(root.path().join("memory/c/memory.limit_in_bytes"), "4096\n").unwrap();
        assert_eq!(group_limits("4:cpu,memory:/c", root.path()), [4096]);
        assert!(group_limits("4:cpu:/c", root.path()).is_empty());
        assert_eq!(total_of("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert!(usable_bytes() > 64 << 20);
    }
}
