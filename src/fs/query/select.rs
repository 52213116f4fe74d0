//! `select=a,b.c,d[0]`: document paths, names percent-decoded.

use super::fault::ClauseFault;
use super::value::{self, whole_number};

use crate::fs::prelude::*;
use crate::model::PathElement;

/// The paths of a `select=` clause, in order.
pub(super) fn parse(text: &str) -> Result<Vec<DocumentPath>, ClauseFault> {
    text.split(',').map(parse_path).collect()
}

/// One path.
pub(super) fn parse_path(text: &str) -> Result<DocumentPath, ClauseFault> {
    let fault = || ClauseFault::DocumentPath { found: text.to_owned() };
    let mut path: Option<DocumentPath> = None;
    for step in text.split('.') {
        let (name, indexes) = split_indexes(step).ok_or_else(fault)?;
        let name = value::decode_text(name).ok().filter(|name| !name.is_empty()).ok_or_else(fault)?;
        let path = match &mut path {
            None => path.insert(DocumentPath::top_level(name)),
            Some(path) => {
                path.rest.push(PathElement::Name(name));
                path
            }
        };
        path.rest.extend(indexes.into_iter().map(PathElement::Index));
    }
    path.ok_or_else(fault)
}

/// `a[0][1]` as `a` and 0, 1.
fn split_indexes(step: &str) -> Option<(&str, Vec<usize>)> {
    let Some(at) = step.find('[') else { return Some((step, Vec::new())) };
    let (name, brackets) = step.split_at(at);
    let inner = brackets.strip_prefix('[')?.strip_suffix(']')?;
    let indexes = inner.split("][").map(whole_number).collect::<Option<Vec<usize>>>()?;
    Some((name, indexes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let shown = parse(text).ok().map(|paths| paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        assert_eq!(shown.as_deref(), expected, "{text}");
    }

    #[test]
    fn document_paths() {
        check("a", Some("[a]"));
        check("a,b", Some("[a] [b]"));
        check("a.b[0][12].c", Some("[a, b, [0], [12], c]"));
        check("a%2Eb,c%2Cd,e%5B0%5D", Some("[a.b] [c,d] [e[0]]"));
        check("Top Score", Some("[Top Score]"));
        for bad in ["", "a,", ",a", "a..b", ".a", "a.", "[0]", "a[]", "a[x]", "a[0", "a]0[", "a[+1]", "a[0]b", "%"] {
            check(bad, None);
        }
    }
}
