//! libFuzzer's entry; `DDBFS_FUZZ_TARGET` names the target.

#![no_main]

mod targets;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let wanted = std::env::var("DDBFS_FUZZ_TARGET").unwrap_or_default();
    let found = targets::TARGETS.into_iter().find(|(name, _)| *name == wanted);
    found.unwrap_or_else(|| panic!("DDBFS_FUZZ_TARGET={wanted:?} is no target")).1
});

fuzz_target!(|data: &[u8]| TARGET(data));
