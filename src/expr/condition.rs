//! The parser of conditions: ConditionExpression, FilterExpression, and the first stage of
//! KeyConditionExpression (docs/dynamodb.md 7.3, 7.4, 7.9). The result, [`Condition`], is checked
//! as far as possible without an item; `evaluate` evaluates it. `parse` has the parser of operands.
//!
//! | difficulty | solved by |
//! |---|---|
//! | `(` may open a condition or an operand, `((a) = :v)` | the content of a group, an operand or a condition, is known when it closes |
//! | the text sets the depth of its parentheses | open groups are kept on a heap-allocated stack, not on the thread's: 4,096 parentheses cost nothing and fail like any other text that ends too early |
//! | a second pair of parentheses around the same content | an error there and then, whatever follows it |

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::lexer::TokenKind;
use super::order::{Comparator, compare};
use super::parse::{self, FaultStage, Language, RawCall};
use super::placeholders::PlaceholderScope;
use super::predicate::{Predicate, SIZE};
use crate::model::error::ExpressionError;
use crate::model::error::expression::{ExpressionFault, ExpressionParameter};
use crate::model::limits::IN_OPERANDS_MAX;
use crate::model::{ApiEnum, AttributeType, AttributeValue, DocumentPath};

/// The order in which the service lists the types if a literal type name is missing.
const TYPE_NAMES: &str = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}";

/// No grammar nests more calls than two. A keyword is one before `(` too: `IN (` begins no call.
pub(super) const LANGUAGE: Language = Language {
    call_depth_max: 16,
    is_keyword: |token, _| {
        ["AND", "OR", "NOT", "BETWEEN", "IN"]
            .iter()
            .any(|word| token.is_keyword(word))
    },
    reserved: FaultStage::Reserved,
    names: FaultStage::Meaning,
    values: FaultStage::Meaning,
};

/// An operand.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operand {
    Path(DocumentPath),
    Value(AttributeValue),
    /// `size(…)`
    Size(Box<Operand>),
    /// The result of a condition as a BOOL value: in PartiQL `begins_with(a, 'x') = b`.
    Truth(Box<Condition>),
}

/// A condition that can be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Condition {
    /// A predicate with its number of operands.
    Test(Predicate, Vec<Operand>),
    /// Conditions that all hold; never none.
    And(Vec<Condition>),
    /// Conditions of which one holds; never none.
    Or(Vec<Condition>),
    Not(Box<Condition>),
}

impl Operand {
    /// Returns its value, if it is a literal.
    fn value(&self) -> Option<&AttributeValue> {
        if let Self::Value(value) = self {
            Some(value)
        } else {
            None
        }
    }
}

impl Condition {
    /// Makes a condition of a top-level attribute and the further values of its predicate.
    #[must_use]
    pub fn on_attribute(
        name: &str,
        predicate: Predicate,
        values: impl IntoIterator<Item = AttributeValue>,
    ) -> Self {
        let attribute = Operand::Path(DocumentPath::top_level(name));
        Self::Test(
            predicate,
            std::iter::once(attribute)
                .chain(values.into_iter().map(Operand::Value))
                .collect(),
        )
    }

    /// Returns the conditions that must all hold, in order.
    #[must_use]
    pub fn conjuncts(&self) -> Vec<&Self> {
        fn collect<'c>(condition: &'c Condition, into: &mut Vec<&'c Condition>) {
            match condition {
                Condition::And(list) => list.iter().for_each(|part| collect(part, into)),
                other => into.push(other),
            }
        }
        let mut parts = Vec::new();
        collect(self, &mut parts);
        parts
    }

    /// Returns the top-level attribute of the condition, its predicate and the further values;
    /// `None` for a condition on anything else.
    #[must_use]
    pub fn as_attribute_test(&self) -> Option<(&str, Predicate, Vec<&AttributeValue>)> {
        let Self::Test(predicate, operands) = self else {
            return None;
        };
        let (predicate, subject, others) = match (*predicate, operands.as_slice()) {
            (Predicate::Compare(comparator), [value @ Operand::Value(_), subject]) => (
                Predicate::Compare(comparator.flipped()),
                subject,
                std::slice::from_ref(value),
            ),
            (predicate, operands) => operands
                .split_first()
                .map(|(subject, others)| (predicate, subject, others))?,
        };
        let values = others.iter().map(Operand::value).collect::<Option<_>>()?;
        match subject {
            Operand::Path(path) if path.rest.is_empty() => Some((&path.head, predicate, values)),
            _ => None,
        }
    }

    /// Returns a top-level attribute and the value that it must have.
    #[must_use]
    pub fn as_equality(&self) -> Option<(&str, &AttributeValue)> {
        match self.as_attribute_test()? {
            (name, Predicate::Compare(Comparator::Equal), values) => Some((name, values.first()?)),
            _ => None,
        }
    }
}

/// Parses the condition of a request's parameter; placeholders that it names count as used.
///
/// # Errors
/// `Invalid …Expression: …` ([`ExpressionError::Invalid`]).
pub fn parse_parameter(
    text: &str,
    parameter: ExpressionParameter,
    scope: &mut PlaceholderScope<'_>,
) -> Result<Condition, ExpressionError> {
    parse(text, scope).map_err(|fault| ExpressionError::Invalid { parameter, fault })
}

/// Parses a condition.
///
/// # Errors
/// The first fault in the order of docs/dynamodb.md 7.9.
pub fn parse(text: &str, scope: &mut PlaceholderScope<'_>) -> Result<Condition, ExpressionFault> {
    let mut parser = ConditionParser(parse::ExprParser::new(text, &LANGUAGE, scope)?);
    let condition = parser.condition()?;
    parser.0.finish(FaultStage::Meaning, Ok(condition))
}

/// The condition of a part with a noted fault. It never leaves the parser; it never holds.
const PLACEHOLDER: Condition = Condition::Or(Vec::new());

/// The content between two connectives.
enum TermContent<'a> {
    Operand(parse::RawOperand<'a>),
    Condition(Condition),
}

/// Content, with a flag that one pair of parentheses is right around it.
struct RawTerm<'a> {
    content: TermContent<'a>,
    in_parentheses: bool,
}

/// A condition under construction, of the whole text or of an open parenthesis.
#[derive(Default)]
struct ConditionGroup {
    /// Finished operands of OR.
    any: Vec<Condition>,
    /// Finished operands of the AND at the end.
    all: Vec<Condition>,
    /// NOTs before the current term.
    negations: usize,
}

impl ConditionGroup {
    /// True if it has nothing but the current term.
    fn is_plain(&self) -> bool {
        self.any.is_empty() && self.all.is_empty() && self.negations == 0
    }

    fn push(&mut self, mut condition: Condition) {
        for _ in 0..std::mem::take(&mut self.negations) {
            condition = Condition::Not(Box::new(condition));
        }
        self.all.push(condition);
    }

    /// Ends the AND list: an OR follows, or the group ends.
    fn end_and(&mut self) {
        self.any
            .extend(join(std::mem::take(&mut self.all), Condition::And));
    }

    fn finish(mut self) -> Option<Condition> {
        self.end_and();
        join(self.any, Condition::Or)
    }
}

/// Returns one condition as itself, several joined by `connective`.
pub(super) fn join(
    mut list: Vec<Condition>,
    connective: fn(Vec<Condition>) -> Condition,
) -> Option<Condition> {
    if list.len() > 1 {
        Some(connective(list))
    } else {
        list.pop()
    }
}

struct ConditionParser<'a, 's, 'p>(parse::ExprParser<'a, 's, 'p>);

impl<'a> ConditionParser<'a, '_, '_> {
    /// Parses the whole text.
    fn condition(&mut self) -> Result<Condition, ExpressionFault> {
        let mut outer: Vec<ConditionGroup> = Vec::new();
        let mut group = ConditionGroup::default();
        loop {
            self.open_groups(&mut outer, &mut group);
            let operand = self.0.bare_operand(0)?;
            let mut term = self.comparison(RawTerm {
                content: TermContent::Operand(operand),
                in_parentheses: false,
            })?;
            while self.0.tokens.peek().kind == TokenKind::Close {
                let Some(enclosing) = outer.pop() else {
                    return Err(self.0.tokens.syntax_error());
                };
                let closed = self.close_group(std::mem::replace(&mut group, enclosing), term)?;
                // The closed content may be an operand, `(a) = :v`, or end the next group too.
                term = self.comparison(closed)?;
            }
            let token = self.0.tokens.peek();
            group.push(self.as_condition(term)?);
            if token.is_keyword("OR") {
                group.end_and();
            } else if token.kind == TokenKind::End && outer.is_empty() {
                return group.finish().ok_or_else(|| self.0.tokens.syntax_error());
            } else if !token.is_keyword("AND") {
                return Err(self.0.tokens.syntax_error());
            }
            self.0.operators += 1;
            self.0.tokens.advance();
        }
    }

    /// Takes every NOT and `(` before an operand.
    fn open_groups(&mut self, outer: &mut Vec<ConditionGroup>, group: &mut ConditionGroup) {
        loop {
            if self.0.tokens.accept_keyword("NOT") {
                group.negations += 1;
                self.0.operators += 1;
            } else if self.0.tokens.accept(TokenKind::Open) {
                outer.push(std::mem::take(group));
            } else {
                return;
            }
        }
    }

    /// Takes the `)` that ends `group` with the last term `term`.
    fn close_group(
        &mut self,
        mut group: ConditionGroup,
        term: RawTerm<'a>,
    ) -> Result<RawTerm<'a>, ExpressionFault> {
        if group.is_plain() {
            self.0.tokens.advance();
            if term.in_parentheses && self.is_complete(&term.content) {
                return Err(ExpressionFault::RedundantParentheses);
            }
            return Ok(RawTerm {
                in_parentheses: true,
                ..term
            });
        }
        group.push(self.as_condition(term)?);
        let condition = group.finish().ok_or_else(|| self.0.tokens.syntax_error())?;
        self.0.tokens.advance();
        Ok(RawTerm {
            content: TermContent::Condition(condition),
            in_parentheses: true,
        })
    }

    /// True if the closed content stands by itself, whatever follows. A path or a value is only the
    /// beginning of something: a token that cannot follow it is reported first. The step in
    /// `((a.b)).c` can, for the service.
    fn is_complete(&self, content: &TermContent<'a>) -> bool {
        let next = self.0.tokens.peek();
        let is_step = matches!(next.kind, TokenKind::Dot | TokenKind::OpenBracket);
        let is_compared = matches!(next.kind, TokenKind::Comparator(_))
            || next.is_keyword("BETWEEN")
            || next.is_keyword("IN");
        match content {
            TermContent::Condition(_) | TermContent::Operand(parse::RawOperand::Call(_)) => true,
            TermContent::Operand(parse::RawOperand::Path(_)) => is_compared || is_step,
            TermContent::Operand(parse::RawOperand::Value(_)) => is_compared,
        }
    }

    /// Converts a term that must be a condition. A call is one here. Any other operand lacks a
    /// comparator, at the token that follows it.
    fn as_condition(&mut self, term: RawTerm<'a>) -> Result<Condition, ExpressionFault> {
        match term.content {
            TermContent::Condition(condition) => Ok(condition),
            TermContent::Operand(parse::RawOperand::Call(call)) => {
                let is_condition = |name: &str| Predicate::from_function(name).is_some();
                let condition = self.resolve_call(call, is_condition, from_call);
                Ok(self.0.or_placeholder(condition, PLACEHOLDER))
            }
            TermContent::Operand(parse::RawOperand::Path(_) | parse::RawOperand::Value(_)) => {
                Err(self.0.tokens.syntax_error())
            }
        }
    }

    /// Continues an operand by the comparator, BETWEEN or IN that follows it, if one does.
    fn comparison(&mut self, term: RawTerm<'a>) -> Result<RawTerm<'a>, ExpressionFault> {
        let TermContent::Operand(operand) = term.content else {
            return Ok(term);
        };
        // Names and values of all operands are looked up before any is checked: an undefined one is
        // reported first.
        let (predicate, operands) =
            if let TokenKind::Comparator(comparator) = self.0.tokens.peek().kind {
                self.0.tokens.advance();
                (
                    Predicate::Compare(comparator),
                    vec![self.resolve_operand(operand), self.operand()?],
                )
            } else if self.0.tokens.accept_keyword("BETWEEN") {
                let (tested, lower) = (self.resolve_operand(operand), self.operand()?);
                // This AND is no operator of its own: BETWEEN counts as one.
                if !self.0.tokens.accept_keyword("AND") {
                    return Err(self.0.tokens.syntax_error());
                }
                (Predicate::Between, vec![tested, lower, self.operand()?])
            } else if self.0.tokens.accept_keyword("IN") {
                let tested = self.resolve_operand(operand);
                let list = self
                    .0
                    .list(0)?
                    .into_iter()
                    .map(|member| self.resolve_operand(member));
                (Predicate::In, std::iter::once(tested).chain(list).collect())
            } else {
                return Ok(RawTerm {
                    content: TermContent::Operand(operand),
                    ..term
                });
            };
        let condition = self.note_fault(checked_condition(predicate, operands));
        self.0.operators += 1;
        Ok(RawTerm {
            content: TermContent::Condition(condition),
            in_parentheses: false,
        })
    }

    fn operand(&mut self) -> Result<Operand, ExpressionFault> {
        self.0
            .operand(0)
            .map(|operand| self.resolve_operand(operand))
    }

    /// Resolves an operand. A fault is noted.
    fn resolve_operand(&mut self, operand: parse::RawOperand<'a>) -> Operand {
        match operand {
            parse::RawOperand::Path(path) => Operand::Path(path),
            parse::RawOperand::Value(value) => Operand::Value(value),
            parse::RawOperand::Call(call) => {
                let size = self.resolve_call(
                    call,
                    |function| function == SIZE,
                    |_, operands| size_of(operands),
                );
                self.0
                    .or_placeholder(size, Operand::Value(AttributeValue::Null))
            }
        }
    }

    /// Resolves a call. A function that does not fit its place and a fault of its operands are
    /// noted.
    fn resolve_call<T>(
        &mut self,
        call: RawCall<'a>,
        fits: fn(&str) -> bool,
        make: fn(&str, Vec<Operand>) -> Result<T, ExpressionFault>,
    ) -> Option<T> {
        if !fits(call.function) {
            self.0.note(
                FaultStage::Places,
                call.at,
                misplaced_function(call.function),
            );
        }
        let operands = call
            .operands
            .into_iter()
            .map(|operand| self.resolve_operand(operand))
            .collect();
        make(call.function, operands)
            .map_err(|fault| self.0.note(FaultStage::Meaning, call.end, fault))
            .ok()
    }

    /// Returns the condition made of the tokens so far. A fault is noted, and a placeholder stands
    /// for the condition.
    fn note_fault(&mut self, condition: Result<Condition, ExpressionFault>) -> Condition {
        let condition = self.0.noted(FaultStage::Meaning, condition);
        self.0.or_placeholder(condition, PLACEHOLDER)
    }
}

fn misplaced_function(function: &str) -> ExpressionFault {
    match parse::UPDATE_FUNCTIONS.contains(&function) {
        true => ExpressionFault::FunctionOfOther {
            language: "a condition",
            function: function.to_owned(),
        },
        false => ExpressionFault::FunctionMisused(function.to_owned()),
    }
}

/// Makes `size(…)` of these operands.
///
/// # Errors
/// A bad number of operands, or a literal of a type without a size.
pub(super) fn size_of(operands: Vec<Operand>) -> Result<Operand, ExpressionFault> {
    let [inner] = parse::exactly(SIZE, operands)?;
    check_literal(&inner, SIZE, |t| {
        !matches!(
            t,
            AttributeType::N | AttributeType::Bool | AttributeType::Null
        )
    })?;
    Ok(Operand::Size(Box::new(inner)))
}

/// Makes the condition of a function with these operands.
///
/// # Errors
/// A function that is no condition; a bad number of operands, or bad types.
pub(super) fn from_call(name: &str, operands: Vec<Operand>) -> Result<Condition, ExpressionFault> {
    let predicate = Predicate::from_function(name).ok_or_else(|| misplaced_function(name))?;
    let count = operands.len();
    if count != predicate.operand_count() {
        return Err(ExpressionFault::OperandCount {
            function: name.to_owned(),
            count,
        });
    }
    checked_condition(predicate, operands)
}

/// Makes the condition of a predicate with its full number of operands.
///
/// # Errors
/// Too many operands of IN; the same document path twice; types; bounds in the wrong order; the
/// name of no type.
pub(super) fn checked_condition(
    predicate: Predicate,
    operands: Vec<Operand>,
) -> Result<Condition, ExpressionFault> {
    debug_assert!(predicate.has_count(operands.len()), "{predicate:?}");
    let word = predicate.as_str();
    let (first, others) = operands.split_first().unzip();
    let others: &[Operand] = others.unwrap_or_default();
    if predicate == Predicate::In && others.len() > IN_OPERANDS_MAX {
        return Err(ExpressionFault::InOperandCount(others.len()));
    }
    others
        .iter()
        .try_for_each(|other| first.map_or(Ok(()), |first| check_distinct(first, other, word)))?;
    for (place, operand) in operands.iter().enumerate() {
        check_literal(operand, word, |of| predicate.accepts(place, of))?;
    }
    match (predicate, operands.as_slice()) {
        (Predicate::Between, [_, Operand::Value(lower), Operand::Value(upper)]) => {
            check_bounds(lower, upper)?
        }
        (
            Predicate::AttributeExists | Predicate::AttributeNotExists,
            [Operand::Value(_) | Operand::Size(_) | Operand::Truth(_)],
        ) => {
            return Err(ExpressionFault::PathRequired(word.to_owned()));
        }
        (Predicate::AttributeType, [_, name]) => check_type_name(name)?,
        _ => {}
    }
    Ok(Condition::Test(predicate, operands))
}

/// Checks that the bounds of BETWEEN are of one type that has an order, and in that order.
fn check_bounds(low: &AttributeValue, high: &AttributeValue) -> Result<(), ExpressionFault> {
    let order = compare(low, high);
    let (lower, upper) = (literal_text(low), literal_text(high));
    match order {
        None => Err(ExpressionFault::BetweenTypes { lower, upper }),
        Some(std::cmp::Ordering::Greater) => Err(ExpressionFault::BetweenOrder { lower, upper }),
        Some(_) => Ok(()),
    }
}

fn check_type_name(operand: &Operand) -> Result<(), ExpressionFault> {
    match operand {
        Operand::Value(AttributeValue::S(text)) => match AttributeType::parse(text) {
            Some(_) => Ok(()),
            None => Err(ExpressionFault::UnknownTypeName(text.clone())),
        },
        other => {
            let found = known_type(other).map_or(TYPE_NAMES, AttributeType::tag);
            Err(operand_type(Predicate::AttributeType.as_str(), found))
        }
    }
}

/// Checks that the two operands are not the same document path.
fn check_distinct(
    first: &Operand,
    second: &Operand,
    operator: &str,
) -> Result<(), ExpressionFault> {
    match (first, second) {
        (Operand::Path(one), Operand::Path(two)) if one == two => {
            Err(ExpressionFault::SameOperand {
                operator: operator.to_owned(),
                operand: one.to_string(),
            })
        }
        _ => Ok(()),
    }
}

/// Returns an operand's type as far as it is known without an item; a size is a number.
fn known_type(operand: &Operand) -> Option<AttributeType> {
    match operand {
        Operand::Value(value) => Some(value.attribute_type()),
        Operand::Size(_) => Some(AttributeType::N),
        Operand::Truth(_) => Some(AttributeType::Bool),
        Operand::Path(_) => None,
    }
}

/// Checks that the type, if it is known, is allowed.
fn check_literal(
    operand: &Operand,
    function: &str,
    allowed: impl Fn(AttributeType) -> bool,
) -> Result<(), ExpressionFault> {
    match known_type(operand) {
        Some(known) if !allowed(known) => Err(operand_type(function, known.tag())),
        Some(_) | None => Ok(()),
    }
}

fn operand_type(function: &str, operand: &str) -> ExpressionFault {
    ExpressionFault::OperandType {
        function: function.to_owned(),
        operand: operand.to_owned(),
    }
}

/// Returns a scalar literal as error texts show it: `{S:x}`, `{N:1}`, `{B:AQ==}`.
fn literal_text(value: &AttributeValue) -> String {
    let content = match value {
        AttributeValue::S(text) => text.clone(),
        AttributeValue::N(number) => number.to_string(),
        AttributeValue::B(bytes) => BASE64.encode(bytes),
        // `checked` has refused bounds of other types.
        _ => {
            debug_assert!(false, "BETWEEN has scalar bounds");
            String::new()
        }
    };
    format!("{{{}:{content}}}", value.attribute_type())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::expr::lexer::Tokens;
    use crate::model::PathElement;
    use crate::model::api::Placeholders;

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
            values: Some(
                values
                    .into_iter()
                    .map(|(alias, value)| (alias.to_owned(), value))
                    .collect(),
            ),
        }
    }

    fn check(text: &str, expected: &str) {
        let placeholders = placeholders();
        let found = parse(text, &mut PlaceholderScope::new(&placeholders));
        assert_eq!(
            found.map_or_else(|fault| fault.to_string(), |_| "ok".to_owned()),
            expected,
            "{text}"
        );
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
            format!(
                "Incorrect operand type for operator or function; operator or function: {function}, operand type: {name}"
            )
        };
        let count = |function: &str, count: usize| {
            format!(
                "Incorrect number of operands for operator or function; operator or function: {function}, number of operands: {count}"
            )
        };
        let misused = |function: &str| {
            format!(
                "The function is not allowed to be used this way in an expression; function: {function}"
            )
        };
        check("((a = :s))", "The expression has redundant parentheses;");
        check("foo(a)", "Invalid function name; function: foo");
        check("Size(a) = :n", "Invalid function name; function: Size");
        check("size(a)", &misused("size"));
        check("contains(a, :s) = :t", &misused("contains"));
        check(
            "a = if_not_exists(a, :n)",
            "The function is not allowed in a condition expression; function: if_not_exists",
        );
        check(
            "a = :s AND Status = :s",
            "Attribute name is a reserved keyword; reserved keyword: Status",
        );
        check(
            "a.b[1].year = :s",
            "Attribute name is a reserved keyword; reserved keyword: year",
        );
        check(
            "#x = :s",
            "An expression attribute name used in the document path is not defined; attribute name: #x",
        );
        check(
            "a = :x",
            "An expression attribute value used in expression is not defined; attribute value: :x",
        );
        check("attribute_exists(a, b)", &count("attribute_exists", 2));
        check("begins_with(a)", &count("begins_with", 1));
        check("contains()", &count("contains", 0));
        check("size(a, b) = :n", &count("size", 2));
        check(
            "attribute_exists(:s)",
            "Operator or function requires a document path; operator or function: attribute_exists",
        );
        let same = "The first operand must be distinct from the remaining operands for this operator or function; operator: ";
        check("a.b = a.b", &format!("{same}=, first operand: [a, b]"));
        check(
            "contains(a, a)",
            &format!("{same}contains, first operand: [a]"),
        );
        check("a < :t", &operand("<", "BOOL"));
        check(":ss >= a", &operand(">=", "SS"));
        check("a BETWEEN :t AND :t", &operand("BETWEEN", "BOOL"));
        check("begins_with(a, :n)", &operand("begins_with", "N"));
        check("contains(:n, a)", &operand("contains", "N"));
        check("size(:n) = :n", &operand("size", "N"));
        check("size(size(a)) = :n", &operand("size", "N"));
        check("begins_with(a, size(b))", &operand("begins_with", "N"));
        check("contains(size(a), :n)", &operand("contains", "N"));
        check(
            "attribute_type(a, size(b))",
            &operand("attribute_type", "N"),
        );
        check(
            "a BETWEEN a AND b",
            &format!("{same}BETWEEN, first operand: [a]"),
        );
        check("a IN (b, a)", &format!("{same}IN, first operand: [a]"));
        check(
            "attribute_type(a, b)",
            &operand("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"),
        );
        check("attribute_type(a, :n)", &operand("attribute_type", "N"));
        check(
            "attribute_type(a, :s)",
            "Invalid attribute type name found; type: x, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
        );
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
        check(
            "foo(a) AND ((a = :x))",
            "The expression has redundant parentheses;",
        );
        check("size(a) AND foo(a)", "Invalid function name; function: foo");
        check(
            "status = :x AND size(a)",
            "The function is not allowed to be used this way in an expression; function: size",
        );
        check(
            "#x = :x AND status = :s",
            "Attribute name is a reserved keyword; reserved keyword: status",
        );
        check(
            "a = :x AND #x = :s",
            "An expression attribute value used in expression is not defined; attribute value: :x",
        );
    }

    #[test]
    fn operators_and_operands_are_counted() {
        let many = |count: usize| vec!["a=:n"; count].join(" OR ");
        check(&many(150), "ok");
        check(
            &many(151),
            "The expression contains too many operators; operator count: 301",
        );
        let list = |count: usize| format!("a IN ({})", vec![":n"; count].join(","));
        check(&list(100), "ok");
        check(
            &list(101),
            "The IN operator is provided with too many operands; number of operands: 101",
        );
        check(
            &format!("{}a=:n{}", "(NOT ".repeat(150), ")".repeat(150)),
            "ok",
        );
        check(&format!("{}a=:n", "NOT ".repeat(299)), "ok");
        check(
            &format!("{}a=:n{}", "(a=:n OR ".repeat(149), ")".repeat(149)),
            "ok",
        );
    }

    /// Maps every placeholder of the text to itself.
    fn itself(text: &str) -> Placeholders {
        let mut tokens = Tokens::new(text);
        let tokens: Vec<_> = std::iter::from_fn(|| {
            Some(tokens.advance()).filter(|token| token.kind != TokenKind::End)
        })
        .collect();
        let of = |kind| {
            tokens
                .iter()
                .filter(move |token| token.kind == kind)
                .map(|token| token.text.to_owned())
        };
        Placeholders::new(
            of(TokenKind::NameRef)
                .map(|alias| (alias.clone(), alias))
                .collect(),
            of(TokenKind::ValueRef)
                .map(|alias| (alias.clone(), AttributeValue::S(alias)))
                .collect(),
        )
    }

    fn parsed(text: &str) -> Result<(Condition, usize), ExpressionFault> {
        let placeholders = itself(text);
        let mut scope = PlaceholderScope::new(&placeholders);
        let mut parser = ConditionParser(parse::ExprParser::new(text, &LANGUAGE, &mut scope)?);
        let condition = parser.condition()?;
        let operators = parser.0.operators;
        Ok((
            parser.0.finish(FaultStage::Meaning, Ok(condition))?,
            operators,
        ))
    }

    /// Shows the tree with every structure in its own parentheses.
    fn show(condition: &Condition) -> String {
        let join =
            |list: &[Condition], word: &str| list.iter().map(show).collect::<Vec<_>>().join(word);
        match condition {
            Condition::Test(predicate, operands) => {
                let shown: Vec<String> = operands.iter().map(show_operand).collect();
                match (predicate, shown.as_slice()) {
                    (Predicate::Compare(comparator), [left, right]) => {
                        format!("{left}{}{right}", comparator.sign())
                    }
                    (Predicate::Between, [operand, lower, upper]) => {
                        format!("{operand} between {lower}..{upper}")
                    }
                    (Predicate::In, [operand, list @ ..]) => {
                        format!("{operand} in [{}]", list.join(" "))
                    }
                    (Predicate::Contains, [operand, element]) => {
                        format!("contains[{operand} {element}]")
                    }
                    (Predicate::AttributeExists, [path]) => format!("exists[{path}]"),
                    other => panic!("{other:?}"),
                }
            }
            Condition::And(list) => format!("({})", join(list, " & ")),
            Condition::Or(list) => format!("({})", join(list, " | ")),
            Condition::Not(inner) => format!("!{}", show(inner)),
        }
    }

    fn show_operand(operand: &Operand) -> String {
        match operand {
            Operand::Value(AttributeValue::S(text)) => text.clone(),
            Operand::Size(inner) => format!("size[{}]", show_operand(inner)),
            Operand::Path(path) => {
                path.rest
                    .iter()
                    .fold(path.head.clone(), |text, step| match step {
                        PathElement::Name(child) => format!("{text}.{child}"),
                        PathElement::Index(index) => format!("{text}.{index}"),
                    })
            }
            other => panic!("{other:?}"),
        }
    }

    fn shape(text: &str, expected: &str) {
        let found = match parsed(text) {
            Ok((condition, operators)) => format!("{} {operators}", show(&condition)),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn table_of_trees() {
        shape("a = :v", "a=:v 1");
        shape(" #a.b [ 3 ] . #c<>:v ", "#a.b.3.#c<>:v 1");
        shape("a = :v OR b = :v AND c = :v", "(a=:v | (b=:v & c=:v)) 5");
        shape(
            "(a = :v OR b = :v) and not c = :v",
            "((a=:v | b=:v) & !c=:v) 6",
        );
        shape("NOT NOT a = :v", "!!a=:v 3");
        shape("NOT (a = :v AND b = :v)", "!(a=:v & b=:v) 4");
        shape(
            "a BETWEEN :a AND :b AND c = :v",
            "(a between :a..:b & c=:v) 3",
        );
        shape("a in (:a, :b)", "a in [:a :b] 1");
        shape(
            "contains(a, :b) AND size (a) > :n",
            "(contains[a :b] & size[a]>:n) 2",
        );
        shape("(a) = (:v)", "a=:v 1");
        shape("((a) = :v)", "a=:v 1");
        shape("contains((a), :b)", "contains[a :b] 0");
        shape("size(a) = size(b)", "size[a]=size[b] 1");
        shape("attribute_exists(a)", "exists[a] 0");
    }

    #[test]
    fn redundant_parentheses_are_seen() {
        let redundant = |text: &str| shape(text, "The expression has redundant parentheses;");
        redundant("((a = :v))");
        redundant("((a)) = :v");
        redundant("a = ((:v))");
        redundant("b = :v AND ((a = :v AND c = :v))");
        // Reported before anything behind them.
        redundant("(a)between(((b.c)).d)and(c)");
        redundant("a in (((b.c)).d)");
        redundant("a = ((b.c)).d");
        redundant("((b.c)).d = :v");
        redundant("((a)) = = :v");
        redundant("a = ((b)) c");
        redundant("((a = b)) AND c");
        redundant("((a = b)))");
        redundant("((size(a))).c = b");
        redundant("foo(((a)))");
        // But not before a token that can begin no operand.
        shape("((a)) d", "Syntax error; token: \"d\", near: \") d\"");
        shape("((:v)).c = a", "Syntax error; token: \".\", near: \").c\"");
        shape(
            "contains(((a)).b, c)",
            "Syntax error; token: \".\", near: \").b\"",
        );
        shape("(a.b).c = d", "Syntax error; token: \".\", near: \").c\"");
        shape("a = (((b))", "The expression has redundant parentheses;");
        shape("a = ((b)", "Syntax error; token: \"<EOF>\", near: \")\"");
        shape("((a = :v) AND (b = :v))", "(a=:v & b=:v) 3");
        shape("(NOT (a = :v))", "!a=:v 2");
    }

    #[test]
    fn table_of_syntax_errors() {
        let case = |text: &str, token: &str, near: &str| {
            shape(
                text,
                &format!("Syntax error; token: \"{token}\", near: \"{near}\""),
            )
        };
        case("a", "<EOF>", "a");
        case("a =", "<EOF>", "=");
        case(":v", "<EOF>", ":v");
        case("a = = :v", "=", "= = :v");
        case("a :v", ":v", "a :v");
        case("a = :v b", "b", ":v b");
        case("a AND b = :v", "AND", "a AND b");
        case("(a = :v", "<EOF>", ":v");
        case("a = :v)", ")", ":v)");
        case("a = :v AND", "<EOF>", "AND");
        case("a BETWEEN :a OR :b", "OR", ":a OR :b");
        case("a IN ()", ")", "()");
        case("a IN :v", ":v", "IN :v");
        case("_a = :v", "_a", "_a =");
        case("1a = :v", "1", "1a");
        case("a[:v] = :v", ":v", "[:v]");
        case("a.[0] = :v", "[", ".[0");
        case("a-b = :v", "-", "a-b");
        case("a = \"x\"", "\"", "= \"x");
        case("NOT", "<EOF>", "NOT");
        case(" ", "<EOF>", "");
    }

    #[test]
    fn limits() {
        shape("", "The expression can not be empty;");
        let long = format!("a = :{}", "v".repeat(4096));
        shape(
            &long,
            "Expression size has exceeded the maximum allowed size; expression size: 4101",
        );
        let deep = format!("a{} = :v", ".b".repeat(32));
        shape(
            &deep,
            "The document path has too many nesting levels; nesting levels: 33",
        );
        shape(
            "a[2147483648] = :v",
            "List index is not within the allowable range; index: [2147483648]",
        );
        let huge = "9".repeat(40);
        shape(
            &format!("a[{huge}] = :v"),
            &format!("List index is not within the allowable range; index: [{huge}]"),
        );
        shape(
            "a[2147483648] = = :v",
            "Syntax error; token: \"=\", near: \"= = :v\"",
        );
        shape(
            &format!("a{} = ((:v))", ".b".repeat(32)),
            "The expression has redundant parentheses;",
        );
        let at_most = format!("a{}[2147483647] = :v", ".b".repeat(30));
        assert!(parsed(&at_most).is_ok());
    }

    #[test]
    fn deep_parentheses_fail_and_legal_ones_parse() {
        for open in ["(", "NOT ", "f(", "a=(", "a = :v AND ("] {
            let text = open.repeat(4096 / open.len());
            assert!(parsed(&text).is_err(), "{open}");
        }
        let levels = 150;
        let text = format!("{}a=:v{}", "(".repeat(levels), " AND a=:v)".repeat(levels));
        assert_eq!(parsed(&text), Err(ExpressionFault::TooManyOperators(301)));
    }

    proptest! {
        #[test]
        fn never_panics_on_any_text(text in "\\PC{0,4096}") {
            let _ = parsed(&text);
        }

        #[test]
        fn never_panics_on_near_misses(words in proptest::collection::vec(
            proptest::sample::select(vec![
                "(", ")", "a", "#b", ":c", "AND", "OR", "NOT", "BETWEEN", "IN", "=", "<>", "[", "]", "0", ".", ",", "size", "_", "é",
            ]), 0..400,
        )) {
            let _ = parsed(&words.join(" "));
        }
    }
}
