//! `kasoku check`: what is wrong with a configuration file.

use crate::wants_colour;
use kasoku_config::ServeFlags;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) fn check(config: PathBuf) -> ExitCode {
    let name = config.display().to_string();
    match kasoku_config::examine(&ServeFlags { config: Some(config), ..ServeFlags::default() }) {
        Ok(loaded) => {
            eprint!("{}", loaded.warnings.render(wants_colour()));
            println!("{name}: ok, {} site(s)", loaded.options.sites.len());
            ExitCode::SUCCESS
        }
        Err(report) => {
            eprint!("{}", report.render(wants_colour()));
            ExitCode::FAILURE
        }
    }
}
