//! The program `cohort`.

use std::io::Write as _;
use std::process::ExitCode;

use cohort_server::options::{self, Request};
use cohort_server::tools::{self, ToolError};
use cohort_server::{VERSION, operator_log, startup};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const USAGE: &str = "\
Usage: cohort <COMMAND>

Commands:
  serve      Start the server (cohort serve --help lists its options)
  check      Check a stopped data directory: cohort check DATADIR [--json FILE]
  journal    Show the journal's records: cohort journal dump DATADIR [--all] [--json]
  binlog     Show the events of binlog files: cohort binlog dump FILE... [--json]
  version    Print the version
  help       Print this
";

fn main() -> ExitCode {
    operator_log::install();
    let status = run();
    log::logger().flush();
    status
}

fn run() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((command, rest)) if command == "serve" => serve(rest),
        Some((command, rest)) if command == "check" => tool(tools::check(rest)),
        Some((command, rest)) if matches!(command.as_str(), "journal" | "binlog") => match rest.split_first() {
            Some((what, rest)) if what == "dump" && command == "journal" => tool(tools::journal_dump(rest)),
            Some((what, rest)) if what == "dump" => tool(tools::binlog_dump(rest)),
            _ => fail(format_args!("'cohort {command}' needs what to do: dump\n\n{USAGE}")),
        },
        Some((command, _)) if matches!(command.as_str(), "version" | "--version" | "-V") => {
            println!("cohort {} (speaks as MySQL {VERSION})", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Some((command, _)) if matches!(command.as_str(), "help" | "--help" | "-h") => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Some((command, _)) => fail(format_args!("unknown command '{command}'\n\n{USAGE}")),
        None => fail(format_args!("a command is missing\n\n{USAGE}")),
    }
}

fn serve(arguments: &[String]) -> ExitCode {
    match options::parse(arguments) {
        Ok(Request::Help) => print!("{}", options::help()),
        Ok(Request::PrintDefaults(globals)) => print!("{}", options::print_defaults(&globals)),
        Ok(Request::Serve(globals)) => {
            if let Err(error) = startup::serve(globals) {
                log::error!("{error}");
                return ExitCode::FAILURE;
            }
        }
        Err(error) => return fail(format_args!("{error}\nTry: cohort serve --help")),
    }
    ExitCode::SUCCESS
}

fn tool(outcome: Result<(), ToolError>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(format_args!("{error}")),
    }
}

fn fail(message: std::fmt::Arguments<'_>) -> ExitCode {
    // Whoever does not take the message gets the status.
    let _ = writeln!(std::io::stderr(), "cohort: {message}");
    ExitCode::FAILURE
}
