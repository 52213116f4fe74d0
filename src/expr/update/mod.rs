//! UpdateExpression (docs/dynamodb.md 7.8, 7.10, 7.11), in stages: `syntax` as parsed, [`Update`] with names and values in place and
//! everything checked that needs no item, [`Update::apply`] on an item.

mod action;
mod apply;
mod check;
mod parse;
mod syntax;

pub use action::{Action, Effect, Origin, SetValue, Term, Update};
pub(super) use check::check_literal;

use super::placeholders::{PlaceholderUse, Scope};
use crate::model::api::Placeholders;
use crate::model::error::ExpressionError;
use crate::model::error::expression::ExpressionParameter;

/// Parses an UpdateExpression; placeholders it names count as used.
///
/// # Errors
/// `Invalid UpdateExpression: …` ([`ExpressionError::Invalid`]), the first in the order of docs/dynamodb.md 7.9.
pub fn parse(text: &str, placeholders: &Placeholders, used: &mut PlaceholderUse) -> Result<Update, ExpressionError> {
    let mut scope = Scope::new(placeholders, used);
    let update = parse::parse(text).and_then(|parsed| check::resolve(&parsed, &mut scope));
    update.map_err(|fault| ExpressionError::Invalid { parameter: ExpressionParameter::Update, fault })
}

#[cfg(test)]
mod tests;
