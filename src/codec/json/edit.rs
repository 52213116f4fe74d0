//! A member of an object's text put in or taken out; all else of the text stays as it was sent.

use super::document::member_places;

/// The value that asks for nothing.
const NOTHING: &[u8] = b"\"NONE\"";

/// The object with a member of that string, if it does not ask for something by it already.
#[must_use]
pub fn asking(object: &[u8], name: &str, value: &str) -> Option<Vec<u8>> {
    let places = member_places(object).ok()?;
    if let Some((_, place)) = places.iter().find(|(of, _)| of == name) {
        let is_nothing = object.get(place.clone())? == NOTHING;
        let quoted = format!("\"{value}\"");
        return is_nothing.then_some([object.get(..place.start)?, quoted.as_bytes(), object.get(place.end..)?].concat());
    }
    let inside = object.iter().position(|byte| *byte == b'{')? + 1;
    let comma = if places.is_empty() { "" } else { "," };
    let member = format!("\"{name}\":\"{value}\"{comma}");
    Some([object.get(..inside)?, member.as_bytes(), object.get(inside..)?].concat())
}

/// The object without a member.
#[must_use]
pub fn without(object: &[u8], name: &str) -> Vec<u8> {
    let Ok(places) = member_places(object) else { return object.to_vec() };
    let others = places.into_iter().filter(|(of, _)| of != name);
    let members: Vec<Vec<u8>> = others
        .map(|(name, place)| {
            [serde_json::Value::from(name).to_string().as_bytes(), b":", object.get(place).unwrap_or_default()].concat()
        })
        .collect();
    [b"{", &members.join(&b',')[..], b"}"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_comes_and_goes() {
        let check = |object: &str, expected: Option<&str>| {
            let found = asking(object.as_bytes(), "Asks", "ALL").map(|text| String::from_utf8(text).unwrap());
            assert_eq!(found.as_deref(), expected, "{object}");
        };
        check("{}", Some(r#"{"Asks":"ALL"}"#));
        check(r#" { "New": [1.50] }"#, Some(r#" {"Asks":"ALL", "New": [1.50] }"#));
        check(r#"{"Asks": "NONE","b":{}}"#, Some(r#"{"Asks": "ALL","b":{}}"#));
        check(r#"{"Asks":"SOME"}"#, None);
        check("[]", None);
        let out = |object: &str| String::from_utf8(without(object.as_bytes(), "Told")).unwrap();
        assert_eq!(out(r#"{"a":1.50,"Told":{"x":[]},"New\n":"\u00e4"}"#), r#"{"a":1.50,"New\n":"\u00e4"}"#);
        assert_eq!((out(r#"{"Told":1}"#), out("{}")), ("{}".to_owned(), "{}".to_owned()));
    }
}
