//! Shows how far a run has come: a bar on a terminal, plain lines in a log.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Progress through a known number of steps.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    done: u64,
}

impl Progress {
    /// Nothing of `total` steps is done yet.
    pub fn new(total: u64) -> Progress {
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            let template = "{elapsed_precise} [{bar:30}] {pos}/{len}  {wide_msg}";
            let style = ProgressStyle::with_template(template).expect("the template is well-formed");
            bar.set_style(style.progress_chars("=> "));
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        Progress { bar, total, done: 0 }
    }

    /// Says what runs now.
    pub fn now(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_owned());
        }
    }

    /// One step is done, with this result.
    pub fn step(&mut self, result: &str) {
        self.done += 1;
        match &self.bar {
            Some(bar) => bar.inc(1),
            None => eprintln!("[{}/{}] {result}", self.done, self.total),
        }
    }

    /// `steps` will not be done, for this reason.
    pub fn skip(&mut self, steps: u64, reason: &str) {
        self.done += steps;
        match &self.bar {
            Some(bar) => bar.inc(steps),
            None => eprintln!("[{}/{}] {reason}", self.done, self.total),
        }
    }

    /// Takes the bar off the screen.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
