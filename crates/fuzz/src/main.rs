//! `cohort-fuzz DIR`: writes the seeds of every target into a folder of its name.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let Some(dir) = std::env::args_os().nth(1) else {
        eprintln!("usage: cohort-fuzz DIR");
        std::process::exit(2);
    };
    for target in cohort_fuzz::TARGETS {
        let folder = Path::new(&dir).join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:03}")), seed)?;
        }
    }
    Ok(())
}
