//! Names that another process may have lost: a sync of their directory failed, and yet they can be seen. A later sync that
//! succeeds proves nothing about them, so they are made anew.

use std::path::Path;

use crate::whole::beside;
use crate::{FileSystem, IoError};

/// Ending of a file's name while its own is made anew.
const RENEWED: &str = ".renewed";

/// Makes the name of a file anew, so that the next sync of its directory has it. A crash may leave the file under the name
/// that [`restore_names`] knows. Where nothing can be changed, as by a tool that only looks, nothing is.
pub fn renew_name(fs: &dyn FileSystem, path: &Path) -> Result<(), IoError> {
    let aside = beside(path, RENEWED);
    match fs.rename(path, &aside) {
        Err(error) if error.is_read_only() => Ok(()),
        moved => moved.and_then(|()| fs.rename(&aside, path)),
    }
}

/// Gives files of a directory their names back that a crash left in the middle of [`renew_name`], if they are the caller's own:
/// other processes may use the directory.
pub fn restore_names(fs: &dyn FileSystem, dir: &Path, is_own: impl Fn(&str) -> bool) -> Result<(), IoError> {
    for name in fs.list(dir)? {
        let own = own_name(&name);
        if own != name && is_own(own) {
            fs.rename(&dir.join(&name), &dir.join(own))?;
        }
    }
    Ok(())
}

/// The name of a file, which may be in the middle of [`renew_name`].
pub fn own_name(name: &str) -> &str {
    name.strip_suffix(RENEWED).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Create, Fault, OpenOptions, SimDisk};

    /// After a sync of the directory that failed, and the end of the process.
    #[test]
    fn a_renewed_name_outlasts_a_failed_sync_and_crashes_meanwhile() {
        let (dir, path) = (Path::new("/data"), Path::new("/data/file"));
        for seed in 0..100 {
            for cut in [None, Some(0), Some(1), Some(2)] {
                let disk = SimDisk::new(seed);
                disk.open(path, &OpenOptions::buffered(Create::New)).unwrap();
                if cut.is_some() {
                    disk.sync_dir(dir).unwrap();
                } else {
                    disk.set_fault(disk.operations(), Fault::Error);
                    assert!(disk.sync_dir(dir).is_err());
                }
                let mut disk = disk.kill();
                if let Some(cut) = cut {
                    disk.set_fault(cut, Fault::PowerCut);
                    assert!(renew_name(&disk, path).and_then(|()| disk.sync_dir(dir)).is_err());
                    disk = disk.crash();
                    restore_names(&disk, dir, |name| name == "file").unwrap();
                }
                renew_name(&disk, path).unwrap();
                disk.sync_dir(dir).unwrap();
                assert_eq!(disk.crash().list(dir).unwrap(), ["file"], "seed {seed}, cut {cut:?}");
            }
        }
    }

    #[test]
    fn what_others_renew_is_left_to_them() {
        let (disk, dir) = (SimDisk::new(7), Path::new("/data"));
        for name in ["a.1.renewed", "b.1.renewed", "b.2"] {
            disk.open(&dir.join(name), &OpenOptions::buffered(Create::New)).unwrap();
        }
        restore_names(&disk, dir, |name| name.starts_with("b.")).unwrap();
        assert_eq!(disk.list(dir).unwrap(), ["a.1.renewed", "b.1", "b.2"]);
    }
}
