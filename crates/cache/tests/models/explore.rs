//! Runs a model in many schedules.

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};
use std::env;

/// Schedules for each model, unless `MODEL_SCHEDULES` says otherwise.
const SCHEDULES: u64 = 2_000;

/// Preemptions that a PCT schedule is built around: most races need one or two.
const PCT_DEPTH: usize = 3;

/// A coroutine's stack, in bytes: an unoptimised build needs more than shuttle's 32 KiB to parse a head.
const STACK_BYTES: usize = 256 << 10;

/// Runs `model` in many schedules, the same ones each time. Returns their number.
pub(crate) fn explore(model: impl Fn() + Send + Sync + 'static) -> usize {
    if let Ok(schedule) = env::var("MODEL_REPLAY") {
        let scheduler = shuttle::scheduler::ReplayScheduler::new_from_encoded(&schedule);
        Runner::new(scheduler, config()).run(model);
        return 1;
    }
    let schedules = number("MODEL_SCHEDULES").unwrap_or(SCHEDULES) as usize;
    let seed = number("MODEL_SEED").unwrap_or(0);
    let model = std::sync::Arc::new(model);
    let again = model.clone();
    let random = RandomScheduler::new_from_seed(seed, schedules.div_ceil(2));
    let few_preemptions = PctScheduler::new_from_seed(seed, PCT_DEPTH, schedules.div_ceil(2));
    Runner::new(random, config()).run(move || model()) + Runner::new(few_preemptions, config()).run(move || again())
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config
}
