//! Conditions with names and values in place, checked as far as can be without an item (docs/dynamodb.md 7.3, 7.4, 7.9).
//!
//! The common stage of ConditionExpression, FilterExpression and KeyConditionExpression.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::order::{Comparator, compare};
use super::parse::parse_condition;
use super::placeholders::{PlaceholderUse, Scope};
use super::syntax::{self, ConditionSyntax, Parts};
use crate::model::api::Placeholders;
use crate::model::error::ExpressionError;
use crate::model::error::expression::{ExpressionFault, ExpressionParameter};
use crate::model::limits::{EXPRESSION_OPERATORS_MAX, IN_OPERANDS_MAX};
use crate::model::{AttributeType, AttributeValue, DocumentPath};

/// The order in which the service lists the types where a literal type name is missing.
const TYPE_NAMES: &str = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}";

/// An operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    Path(DocumentPath),
    Value(AttributeValue),
    /// `size(…)`
    Size(Box<Operand>),
    /// Whether a condition holds, a BOOL: in PartiQL `begins_with(a, 'x') = b`.
    Truth(Box<Condition>),
}

/// A condition that can be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    Compare { left: Operand, comparator: Comparator, right: Operand },
    Between { operand: Operand, lower: Operand, upper: Operand },
    In { operand: Operand, list: Vec<Operand> },
    AttributeExists(DocumentPath),
    AttributeNotExists(DocumentPath),
    AttributeType { operand: Operand, attribute_type: AttributeType },
    BeginsWith { operand: Operand, prefix: Operand },
    Contains { operand: Operand, element: Operand },
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
}

/// The functions of the condition language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Contains,
    Size,
    /// Known, but only to the update language.
    OfUpdate,
}

/// Those of conditions, and then those of updates.
const FUNCTIONS: [(&str, Function); 8] = [
    ("attribute_exists", Function::AttributeExists),
    ("attribute_not_exists", Function::AttributeNotExists),
    ("attribute_type", Function::AttributeType),
    ("begins_with", Function::BeginsWith),
    ("contains", Function::Contains),
    ("size", Function::Size),
    ("if_not_exists", Function::OfUpdate),
    ("list_append", Function::OfUpdate),
];

/// The names of the functions of conditions.
pub fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().filter(|(_, function)| *function != Function::OfUpdate).map(|(name, _)| *name)
}

/// Is a call of this function a condition?
#[must_use]
pub fn is_condition(name: &str) -> bool {
    Function::from_name(name).is_some_and(Function::is_condition)
}

impl Function {
    /// Names are case-sensitive.
    fn from_name(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    fn is_condition(self) -> bool {
        !matches!(self, Self::Size | Self::OfUpdate)
    }
}

/// Parses and resolves a condition.
///
/// # Errors
/// The first fault in the order of docs/dynamodb.md 7.9.
pub fn parse(text: &str, scope: &mut Scope<'_>) -> Result<Condition, ExpressionFault> {
    let parsed = parse_condition(text)?;
    check_structure(&parsed)?;
    resolve(&parsed.root, scope)
}

/// Parses the condition of a request's parameter; placeholders it names count as used.
///
/// # Errors
/// `Invalid …Expression: …` ([`ExpressionError::Invalid`]).
pub fn parse_parameter(
    text: &str,
    parameter: ExpressionParameter,
    placeholders: &Placeholders,
    used: &mut PlaceholderUse,
) -> Result<Condition, ExpressionError> {
    parse(text, &mut Scope::new(placeholders, used)).map_err(|fault| ExpressionError::Invalid { parameter, fault })
}

/// What is wrong regardless of names and values: operator count, functions, reserved words.
fn check_structure(parsed: &ConditionSyntax<'_>) -> Result<(), ExpressionFault> {
    if parsed.operators > EXPRESSION_OPERATORS_MAX {
        return Err(ExpressionFault::TooManyOperators(parsed.operators));
    }
    // The service goes through the whole text once for each of these, and through names and values only then.
    let parts = Parts::of(&parsed.root);
    check_known(&parts)?;
    parts.calls.iter().try_for_each(|(call, is_condition)| check_place(call.function, *is_condition))?;
    parts.paths.iter().try_for_each(|path| path.check_reserved())
}

/// Calls of functions that there are, in conditions or updates.
pub(super) fn check_known(parts: &Parts<'_, '_>) -> Result<(), ExpressionFault> {
    match parts.calls.iter().find(|(call, _)| Function::from_name(call.function).is_none()) {
        Some((call, _)) => Err(ExpressionFault::UnknownFunction(call.function.to_owned())),
        None => Ok(()),
    }
}

fn check_place(name: &str, is_condition: bool) -> Result<(), ExpressionFault> {
    match Function::from_name(name) {
        Some(function) if is_condition && function.is_condition() => Ok(()),
        Some(Function::Size) if !is_condition => Ok(()),
        Some(Function::OfUpdate) => Err(of_update(name)),
        _ => Err(ExpressionFault::FunctionMisused(name.to_owned())),
    }
}

fn of_update(function: &str) -> ExpressionFault {
    ExpressionFault::FunctionOfOther { language: "a condition", function: function.to_owned() }
}

fn resolve(condition: &syntax::Condition<'_>, scope: &mut Scope<'_>) -> Result<Condition, ExpressionFault> {
    match condition {
        syntax::Condition::Compare { left, comparator, right } => {
            // Names and values of both sides are looked up before either is judged: an undefined one is told first.
            let (left, right) = (operand(left, scope)?, operand(right, scope)?);
            resolve_comparison(left, *comparator, right)
        }
        syntax::Condition::Between { operand: tested, lower, upper } => {
            let (tested, lower, upper) = (operand(tested, scope)?, operand(lower, scope)?, operand(upper, scope)?);
            resolve_between(tested, lower, upper)
        }
        syntax::Condition::In { operand: tested, list } => {
            let tested = operand(tested, scope)?;
            let list = operands(list, scope)?;
            if list.len() > IN_OPERANDS_MAX {
                return Err(ExpressionFault::InOperandCount(list.len()));
            }
            list.iter().try_for_each(|other| check_distinct(&tested, other, "IN"))?;
            Ok(Condition::In { operand: tested, list })
        }
        syntax::Condition::Call(call) => of_call(call.function, operands(&call.operands, scope)?),
        syntax::Condition::And(list) => resolve_list(list, scope).map(Condition::And),
        syntax::Condition::Or(list) => resolve_list(list, scope).map(Condition::Or),
        syntax::Condition::Not(inner) => Ok(Condition::Not(Box::new(resolve(inner, scope)?))),
    }
}

fn resolve_list(list: &[syntax::Condition<'_>], scope: &mut Scope<'_>) -> Result<Vec<Condition>, ExpressionFault> {
    list.iter().map(|condition| resolve(condition, scope)).collect()
}

fn operands(list: &[syntax::Operand<'_>], scope: &mut Scope<'_>) -> Result<Vec<Operand>, ExpressionFault> {
    list.iter().map(|item| operand(item, scope)).collect()
}

fn operand(operand: &syntax::Operand<'_>, scope: &mut Scope<'_>) -> Result<Operand, ExpressionFault> {
    match operand {
        syntax::Operand::Path(path) => path.resolve(scope).map(Operand::Path),
        syntax::Operand::Value(alias) => scope.value(alias).map(|value| Operand::Value(value.clone())),
        // Only size gets here, see `check_function_place`.
        syntax::Operand::Call(call) => size_of(operands(&call.operands, scope)?),
    }
}

/// `size(…)` of these operands.
///
/// # Errors
/// Their number or type.
pub(super) fn size_of(operands: Vec<Operand>) -> Result<Operand, ExpressionFault> {
    let [inner] = exactly("size", operands)?;
    check_literal(&inner, "size", |t| !matches!(t, AttributeType::N | AttributeType::Bool | AttributeType::Null))?;
    Ok(Operand::Size(Box::new(inner)))
}

pub(super) fn resolve_comparison(left: Operand, comparator: Comparator, right: Operand) -> Result<Condition, ExpressionFault> {
    check_distinct(&left, &right, comparator.sign())?;
    let any_type = matches!(comparator, Comparator::Equal | Comparator::NotEqual);
    for operand in [&left, &right] {
        check_literal(operand, comparator.sign(), |t| any_type || is_ordered(t))?;
    }
    Ok(Condition::Compare { left, comparator, right })
}

pub(super) fn resolve_between(operand: Operand, lower: Operand, upper: Operand) -> Result<Condition, ExpressionFault> {
    for bound in [&lower, &upper] {
        check_distinct(&operand, bound, "BETWEEN")?;
    }
    for part in [&operand, &lower, &upper] {
        check_literal(part, "BETWEEN", is_ordered)?;
    }
    if let (Operand::Value(low), Operand::Value(high)) = (&lower, &upper) {
        let texts = || (literal_text(low), literal_text(high));
        // Both are of types that have an order by now: `None` is a difference of types.
        match compare(low, high) {
            None => {
                let (lower, upper) = texts();
                return Err(ExpressionFault::BetweenTypes { lower, upper });
            }
            Some(std::cmp::Ordering::Greater) => {
                let (lower, upper) = texts();
                return Err(ExpressionFault::BetweenOrder { lower, upper });
            }
            Some(_) => {}
        }
    }
    Ok(Condition::Between { operand, lower, upper })
}

/// The condition that a function of these operands is.
///
/// # Errors
/// Another function; their number or types.
pub(super) fn of_call(name: &str, operands: Vec<Operand>) -> Result<Condition, ExpressionFault> {
    let function = Function::from_name(name).ok_or_else(|| ExpressionFault::UnknownFunction(name.to_owned()))?;
    match function {
        Function::AttributeExists => sole_path(name, operands).map(Condition::AttributeExists),
        Function::AttributeNotExists => sole_path(name, operands).map(Condition::AttributeNotExists),
        Function::AttributeType => resolve_attribute_type(name, operands),
        Function::BeginsWith => {
            let [operand, prefix] = exactly(name, operands)?;
            check_distinct(&operand, &prefix, name)?;
            for part in [&operand, &prefix] {
                check_literal(part, name, |t| matches!(t, AttributeType::S | AttributeType::B))?;
            }
            Ok(Condition::BeginsWith { operand, prefix })
        }
        Function::Contains => {
            let [operand, element] = exactly(name, operands)?;
            check_distinct(&operand, &element, name)?;
            check_literal(&operand, name, |t| {
                !matches!(t, AttributeType::N | AttributeType::Bool | AttributeType::Null | AttributeType::M)
            })?;
            Ok(Condition::Contains { operand, element })
        }
        Function::Size => Err(ExpressionFault::FunctionMisused(name.to_owned())),
        Function::OfUpdate => Err(of_update(name)),
    }
}

fn resolve_attribute_type(name: &str, operands: Vec<Operand>) -> Result<Condition, ExpressionFault> {
    let [operand, type_name] = exactly(name, operands)?;
    check_distinct(&operand, &type_name, name)?;
    let literal = match type_name {
        Operand::Value(literal) => literal,
        Operand::Path(_) => return Err(operand_type(name, TYPE_NAMES)),
        Operand::Size(_) => return Err(operand_type(name, AttributeType::N.tag())),
        Operand::Truth(_) => return Err(operand_type(name, AttributeType::Bool.tag())),
    };
    let AttributeValue::S(text) = literal else {
        return Err(operand_type(name, literal.attribute_type().tag()));
    };
    match AttributeType::from_tag(&text) {
        Some(attribute_type) => Ok(Condition::AttributeType { operand, attribute_type }),
        None => Err(ExpressionFault::UnknownTypeName(text)),
    }
}

/// The operands, if they are as many as the function has.
fn exactly<const N: usize>(function: &str, operands: Vec<Operand>) -> Result<[Operand; N], ExpressionFault> {
    let count = operands.len();
    operands.try_into().map_err(|_| ExpressionFault::OperandCount { function: function.to_owned(), count })
}

fn sole_path(function: &str, operands: Vec<Operand>) -> Result<DocumentPath, ExpressionFault> {
    match exactly(function, operands)? {
        [Operand::Path(path)] => Ok(path),
        [Operand::Value(_) | Operand::Size(_) | Operand::Truth(_)] => Err(ExpressionFault::PathRequired(function.to_owned())),
    }
}

/// The two operands may not be the same document path.
fn check_distinct(first: &Operand, second: &Operand, operator: &str) -> Result<(), ExpressionFault> {
    match (first, second) {
        (Operand::Path(one), Operand::Path(two)) if one == two => {
            Err(ExpressionFault::SameOperand { operator: operator.to_owned(), operand: one.to_string() })
        }
        _ => Ok(()),
    }
}

/// What is known of an operand's type without an item is one of those allowed; a size is a number.
fn check_literal(operand: &Operand, function: &str, allowed: impl Fn(AttributeType) -> bool) -> Result<(), ExpressionFault> {
    let known = match operand {
        Operand::Value(value) => value.attribute_type(),
        Operand::Size(_) => AttributeType::N,
        Operand::Truth(_) => AttributeType::Bool,
        Operand::Path(_) => return Ok(()),
    };
    if allowed(known) { Ok(()) } else { Err(operand_type(function, known.tag())) }
}

fn operand_type(function: &str, operand: &str) -> ExpressionFault {
    ExpressionFault::OperandType { function: function.to_owned(), operand: operand.to_owned() }
}

fn is_ordered(attribute_type: AttributeType) -> bool {
    matches!(attribute_type, AttributeType::S | AttributeType::N | AttributeType::B)
}

/// A scalar literal as error texts show it: `{S:x}`, `{N:1}`, `{B:AQ==}`.
fn literal_text(value: &AttributeValue) -> String {
    let content = match value {
        AttributeValue::S(text) => text.clone(),
        AttributeValue::N(number) => number.to_string(),
        AttributeValue::B(bytes) => BASE64.encode(bytes),
        // Not among the operands of BETWEEN.
        _ => String::new(),
    };
    format!("{{{}:{content}}}", value.attribute_type())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values for every type: `:s :n :b :t :z :ss :l :m`; and some for ranges.
    fn placeholders() -> Placeholders {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let number = |text: &str| AttributeValue::N(text.parse().expect("a number"));
        let values = [
            (":s", text("x")),
            (":n", number("1")),
            (":n2", number("2")),
            (":b", AttributeValue::B(vec![1])),
            (":b2", AttributeValue::B(vec![2])),
            (":t", AttributeValue::Bool(true)),
            (":z", AttributeValue::Null),
            (":ss", AttributeValue::Ss(vec!["a".into()])),
            (":l", AttributeValue::L(vec![])),
            (":m", AttributeValue::M(std::collections::BTreeMap::new())),
            (":type", text("SS")),
        ];
        Placeholders {
            names: Some([("#a".to_owned(), "a.b".to_owned())].into()),
            values: Some(values.into_iter().map(|(alias, value)| (alias.to_owned(), value)).collect()),
        }
    }

    fn check(text: &str, expected: &str) {
        let placeholders = placeholders();
        let mut used = PlaceholderUse::default();
        let found = parse(text, &mut Scope::new(&placeholders, &mut used));
        assert_eq!(found.map_or_else(|fault| fault.to_string(), |_| "ok".to_owned()), expected, "{text}");
    }

    #[test]
    fn legal_conditions() {
        for text in [
            "a = :t",
            "a <> :m",
            "a < :b AND b >= :s",
            "a IN (:t, :z, b)",
            "a BETWEEN :n AND :n2",
            "a BETWEEN :n AND :n",
            "a BETWEEN b AND :s",
            "attribute_exists(a.#a[0]) OR attribute_not_exists(#a)",
            "attribute_type(a, :type)",
            "begins_with(a, :s) AND begins_with(:b, a)",
            "contains(:l, a) AND contains(a, :n)",
            "size(a) > :n AND size(:ss) = :n AND size(a) = size(a)",
            ":s = :s",
        ] {
            check(text, "ok");
        }
    }

    #[test]
    fn table_of_faults() {
        let operand = |function: &str, name: &str| {
            format!("Incorrect operand type for operator or function; operator or function: {function}, operand type: {name}")
        };
        let count = |function: &str, count: usize| {
            format!(
                "Incorrect number of operands for operator or function; operator or function: {function}, number of operands: {count}"
            )
        };
        let misused =
            |function: &str| format!("The function is not allowed to be used this way in an expression; function: {function}");
        check("((a = :s))", "The expression has redundant parentheses;");
        check("foo(a)", "Invalid function name; function: foo");
        check("Size(a) = :n", "Invalid function name; function: Size");
        check("size(a)", &misused("size"));
        check("contains(a, :s) = :t", &misused("contains"));
        check("a = if_not_exists(a, :n)", "The function is not allowed in a condition expression; function: if_not_exists");
        check("a = :s AND Status = :s", "Attribute name is a reserved keyword; reserved keyword: Status");
        check("a.b[1].year = :s", "Attribute name is a reserved keyword; reserved keyword: year");
        check("#x = :s", "An expression attribute name used in the document path is not defined; attribute name: #x");
        check("a = :x", "An expression attribute value used in expression is not defined; attribute value: :x");
        check("attribute_exists(a, b)", &count("attribute_exists", 2));
        check("begins_with(a)", &count("begins_with", 1));
        check("contains()", &count("contains", 0));
        check("size(a, b) = :n", &count("size", 2));
        check("attribute_exists(:s)", "Operator or function requires a document path; operator or function: attribute_exists");
        let same = "The first operand must be distinct from the remaining operands for this operator or function; operator: ";
        check("a.b = a.b", &format!("{same}=, first operand: [a, b]"));
        check("contains(a, a)", &format!("{same}contains, first operand: [a]"));
        check("a < :t", &operand("<", "BOOL"));
        check(":ss >= a", &operand(">=", "SS"));
        check("a BETWEEN :t AND :t", &operand("BETWEEN", "BOOL"));
        check("begins_with(a, :n)", &operand("begins_with", "N"));
        check("contains(:n, a)", &operand("contains", "N"));
        check("size(:n) = :n", &operand("size", "N"));
        check("size(size(a)) = :n", &operand("size", "N"));
        check("begins_with(a, size(b))", &operand("begins_with", "N"));
        check("contains(size(a), :n)", &operand("contains", "N"));
        check("attribute_type(a, size(b))", &operand("attribute_type", "N"));
        check("a BETWEEN a AND b", &format!("{same}BETWEEN, first operand: [a]"));
        check("a IN (b, a)", &format!("{same}IN, first operand: [a]"));
        check("attribute_type(a, b)", &operand("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"));
        check("attribute_type(a, :n)", &operand("attribute_type", "N"));
        check("attribute_type(a, :s)", "Invalid attribute type name found; type: x, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}");
    }

    #[test]
    fn between_bounds_are_compared() {
        check(
            "a BETWEEN :s AND :n",
            "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {S:x}, upper bound operand: AttributeValue: {N:1}",
        );
        check(
            "a BETWEEN :n2 AND :n",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
        );
        check(
            "a BETWEEN :b2 AND :b",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {B:Ag==}, upper bound operand: AttributeValue: {B:AQ==}",
        );
    }

    #[test]
    fn faults_come_in_the_documented_order() {
        check("foo(a) AND ((a = :x))", "The expression has redundant parentheses;");
        check("size(a) AND foo(a)", "Invalid function name; function: foo");
        check("status = :x AND size(a)", "The function is not allowed to be used this way in an expression; function: size");
        check("#x = :x AND status = :s", "Attribute name is a reserved keyword; reserved keyword: status");
        check("a = :x AND #x = :s", "An expression attribute value used in expression is not defined; attribute value: :x");
    }

    #[test]
    fn operators_and_operands_are_counted() {
        let many = |count: usize| vec!["a=:n"; count].join(" OR ");
        check(&many(150), "ok");
        check(&many(151), "The expression contains too many operators; operator count: 301");
        let list = |count: usize| format!("a IN ({})", vec![":n"; count].join(","));
        check(&list(100), "ok");
        check(&list(101), "The IN operator is provided with too many operands; number of operands: 101");
        check(&format!("{}a=:n{}", "(NOT ".repeat(150), ")".repeat(150)), "ok");
        check(&format!("{}a=:n", "NOT ".repeat(299)), "ok");
        check(&format!("{}a=:n{}", "(a=:n OR ".repeat(149), ")".repeat(149)), "ok");
    }
}
