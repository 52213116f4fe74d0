//! `--durability`: what an acknowledged write survives.

use crate::cli::prelude::*;
use crate::store::Durability;

/// The words, and what they mean.
const WORDS: [(&str, Durability); 2] = [("power", Durability::Power), ("kill", Durability::Kill)];

/// For commands that write much.
#[derive(Debug, Clone, Args)]
pub struct DurabilityArgs {
    /// power: a write that returned survives kill -9 and a power cut
    /// kill: it survives kill -9; a power cut may take the writes of the last half second, whole ones. Faster
    #[arg(long, value_name = "power|kill", default_value = "power", value_parser = parse, verbatim_doc_comment)]
    pub durability: Durability,
}

/// The meaning of a word.
///
/// # Errors
/// A sentence, when it is neither.
pub fn parse(text: &str) -> Result<Durability, String> {
    let known = WORDS.iter().find(|(word, _)| *word == text);
    known.map(|(_, durability)| *durability).ok_or_else(|| format!("takes power or kill, not {text:?}"))
}

/// The word of a durability.
#[must_use]
pub fn name(durability: Durability) -> &'static str {
    WORDS.iter().find(|(_, known)| *known == durability).map_or("", |(word, _)| word)
}
