//! The parser of conditions (docs/dynamodb.md 7.3): ConditionExpression, FilterExpression and KeyConditionExpression.
//!
//! Difficulty: `(` may open a condition or an operand, `((a) = :v)`, and how deep it opens is up to the caller. Open groups are
//! therefore kept on a heap-allocated stack, not on the thread's: 4,096 parentheses cost nothing and fail like any other text
//! that ends too early. What a group holds, an operand or a condition, is known when it closes. A second pair of parentheses around
//! the same is an error there and then, whatever stands behind it.

use super::lexer::{TokenKind, Tokens};
use super::operand::Operands;
use super::order::Comparator;
use super::syntax::{Condition, ConditionSyntax, Operand};
use crate::model::error::expression::ExpressionFault;
use crate::model::limits::EXPRESSION_BYTES_MAX;

/// No grammar nests more calls than two. A keyword is none before `(` either: `IN (` begins no call.
const OPERANDS: Operands = Operands {
    call_depth_max: 16,
    is_keyword: |token, _| ["AND", "OR", "NOT", "BETWEEN", "IN"].iter().any(|word| token.is_keyword(word)),
};

/// Checks the size of an expression, before any lexing.
///
/// # Errors
/// Too long, or empty.
pub fn check_size(text: &str) -> Result<(), ExpressionFault> {
    if text.len() > EXPRESSION_BYTES_MAX {
        return Err(ExpressionFault::TooLong(text.len()));
    }
    if text.is_empty() {
        return Err(ExpressionFault::Empty);
    }
    Ok(())
}

/// Parses a whole condition.
///
/// # Errors
/// Size, syntax, and the limits of document paths.
pub fn parse_condition(text: &str) -> Result<ConditionSyntax<'_>, ExpressionFault> {
    check_size(text)?;
    let mut parser = Parser { tokens: Tokens::new(text), operators: 0 };
    let root = parser.condition()?;
    parser.tokens.finish()?;
    Ok(ConditionSyntax { root, operators: parser.operators })
}

/// What stands between two connectives.
enum Content<'a> {
    Operand(Operand<'a>),
    Condition(Condition<'a>),
}

/// Content, and whether one pair of parentheses stands right around it.
struct Term<'a> {
    content: Content<'a>,
    in_parentheses: bool,
}

/// A condition under construction, of the whole text or of an open parenthesis.
#[derive(Default)]
struct Group<'a> {
    /// Finished operands of OR.
    any: Vec<Condition<'a>>,
    /// Finished operands of the AND at the end.
    all: Vec<Condition<'a>>,
    /// NOTs before the term being read.
    negations: usize,
}

impl<'a> Group<'a> {
    /// Has nothing but the term being read.
    fn is_plain(&self) -> bool {
        self.any.is_empty() && self.all.is_empty() && self.negations == 0
    }

    fn push(&mut self, mut condition: Condition<'a>) {
        for _ in 0..std::mem::take(&mut self.negations) {
            condition = Condition::Not(Box::new(condition));
        }
        self.all.push(condition);
    }

    /// Ends the AND list: an OR follows, or the group ends.
    fn end_and(&mut self) {
        let all = std::mem::take(&mut self.all);
        self.any.extend(join(all, Condition::And));
    }

    fn finish(mut self) -> Option<Condition<'a>> {
        self.end_and();
        join(self.any, Condition::Or)
    }
}

/// One condition as itself, several by `connective`.
fn join<'a>(mut list: Vec<Condition<'a>>, connective: fn(Vec<Condition<'a>>) -> Condition<'a>) -> Option<Condition<'a>> {
    if list.len() > 1 { Some(connective(list)) } else { list.pop() }
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    operators: usize,
}

impl<'a> Parser<'a> {
    /// The whole text.
    fn condition(&mut self) -> Result<Condition<'a>, ExpressionFault> {
        let mut outer: Vec<Group<'a>> = Vec::new();
        let mut group = Group::default();
        loop {
            self.open_groups(&mut outer, &mut group);
            let operand = OPERANDS.bare(&mut self.tokens, 0)?;
            let mut term = self.comparison(Term { content: Content::Operand(operand), in_parentheses: false })?;
            while self.tokens.peek().kind == TokenKind::Close {
                let Some(enclosing) = outer.pop() else { return Err(self.tokens.syntax_error()) };
                let closed = self.close_group(std::mem::replace(&mut group, enclosing), term)?;
                // What closed may be an operand, `(a) = :v`, or end the next group too.
                term = self.comparison(closed)?;
            }
            let token = self.tokens.peek();
            let condition = self.as_condition(term)?;
            group.push(condition);
            if token.is_keyword("OR") {
                group.end_and();
            } else if token.kind == TokenKind::End && outer.is_empty() {
                return group.finish().ok_or_else(|| self.tokens.syntax_error());
            } else if !token.is_keyword("AND") {
                return Err(self.tokens.syntax_error());
            }
            self.operators += 1;
            self.tokens.advance();
        }
    }

    /// Takes every NOT and `(` before an operand.
    fn open_groups(&mut self, outer: &mut Vec<Group<'a>>, group: &mut Group<'a>) {
        loop {
            if self.tokens.accept_keyword("NOT") {
                group.negations += 1;
                self.operators += 1;
            } else if self.tokens.accept(TokenKind::Open) {
                outer.push(std::mem::take(group));
            } else {
                return;
            }
        }
    }

    /// Takes the `)` that ends `group`, whose last term is `term`.
    fn close_group(&mut self, mut group: Group<'a>, term: Term<'a>) -> Result<Term<'a>, ExpressionFault> {
        if group.is_plain() {
            self.tokens.advance();
            if term.in_parentheses && self.is_complete(&term.content) {
                return Err(ExpressionFault::RedundantParentheses);
            }
            return Ok(Term { in_parentheses: true, ..term });
        }
        let last = self.as_condition(term)?;
        group.push(last);
        let condition = group.finish().ok_or_else(|| self.tokens.syntax_error())?;
        self.tokens.advance();
        Ok(Term { content: Content::Condition(condition), in_parentheses: true })
    }

    /// Is what was closed something by itself, whatever follows? A path or a value is only the begin of something: a token that
    /// cannot follow it is told of first. The step in `((a.b)).c` can, as far as the service is concerned.
    fn is_complete(&self, content: &Content<'a>) -> bool {
        let next = self.tokens.peek();
        let is_step = matches!(next.kind, TokenKind::Dot | TokenKind::OpenBracket);
        let is_compared = comparator(next.kind).is_some() || next.is_keyword("BETWEEN") || next.is_keyword("IN");
        match content {
            Content::Condition(_) | Content::Operand(Operand::Call(_)) => true,
            Content::Operand(Operand::Path(_)) => is_compared || is_step,
            Content::Operand(Operand::Value(_)) => is_compared,
        }
    }

    /// A term that must be a condition. A call is one here; whether its function may stand so is checked later. Any other operand
    /// lacks a comparator, at the token that follows it.
    fn as_condition(&self, term: Term<'a>) -> Result<Condition<'a>, ExpressionFault> {
        match term.content {
            Content::Condition(condition) => Ok(condition),
            Content::Operand(Operand::Call(call)) => Ok(Condition::Call(call)),
            Content::Operand(Operand::Path(_) | Operand::Value(_)) => Err(self.tokens.syntax_error()),
        }
    }

    /// Continues an operand by the comparator, BETWEEN or IN that follows it, if one does.
    fn comparison(&mut self, term: Term<'a>) -> Result<Term<'a>, ExpressionFault> {
        let Content::Operand(operand) = term.content else { return Ok(term) };
        let condition = if let Some(comparator) = comparator(self.tokens.peek().kind) {
            self.tokens.advance();
            Condition::Compare { left: operand, comparator, right: OPERANDS.operand(&mut self.tokens, 0)? }
        } else if self.tokens.accept_keyword("BETWEEN") {
            self.between(operand)?
        } else if self.tokens.accept_keyword("IN") {
            Condition::In { operand, list: OPERANDS.list(&mut self.tokens, 0)? }
        } else {
            return Ok(Term { content: Content::Operand(operand), ..term });
        };
        self.operators += 1;
        Ok(Term { content: Content::Condition(condition), in_parentheses: false })
    }

    fn between(&mut self, operand: Operand<'a>) -> Result<Condition<'a>, ExpressionFault> {
        let lower = OPERANDS.operand(&mut self.tokens, 0)?;
        // No operator of its own: BETWEEN counts as one.
        if !self.tokens.accept_keyword("AND") {
            return Err(self.tokens.syntax_error());
        }
        Ok(Condition::Between { operand, lower, upper: OPERANDS.operand(&mut self.tokens, 0)? })
    }
}

fn comparator(kind: TokenKind) -> Option<Comparator> {
    if let TokenKind::Comparator(comparator) = kind { Some(comparator) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::syntax::Call;
    use proptest::prelude::*;

    /// The tree with every structure in its own parentheses.
    fn show(condition: &Condition<'_>) -> String {
        let join = |list: &[Condition<'_>], word: &str| list.iter().map(show).collect::<Vec<_>>().join(word);
        match condition {
            Condition::Compare { left, comparator, right } => {
                format!("{}{}{}", show_operand(left), comparator.sign(), show_operand(right))
            }
            Condition::Between { operand, lower, upper } => {
                format!("{} between {}..{}", show_operand(operand), show_operand(lower), show_operand(upper))
            }
            Condition::In { operand, list } => format!("{} in {}", show_operand(operand), show_operands(list)),
            Condition::Call(call) => show_call(call),
            Condition::And(list) => format!("({})", join(list, " & ")),
            Condition::Or(list) => format!("({})", join(list, " | ")),
            Condition::Not(inner) => format!("!{}", show(inner)),
        }
    }

    fn show_call(call: &Call<'_>) -> String {
        format!("{}{}", call.function, show_operands(&call.operands))
    }

    fn show_operands(list: &[Operand<'_>]) -> String {
        format!("[{}]", list.iter().map(show_operand).collect::<Vec<_>>().join(" "))
    }

    fn show_operand(operand: &Operand<'_>) -> String {
        use crate::expr::path::{Name, PathStep};
        let name = |name: &Name<'_>| match name {
            Name::Bare(text) | Name::Alias(text) => (*text).to_owned(),
        };
        match operand {
            Operand::Value(text) => (*text).to_owned(),
            Operand::Call(call) => show_call(call),
            Operand::Path(path) => path.rest.iter().fold(name(&path.head), |text, step| match step {
                PathStep::Name(child) => format!("{text}.{}", name(child)),
                PathStep::Index(index) => format!("{text}.{index}"),
            }),
        }
    }

    fn check(text: &str, expected: &str) {
        let found = match parse_condition(text) {
            Ok(parsed) => format!("{} {}", show(&parsed.root), parsed.operators),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn table_of_trees() {
        check("a = :v", "a=:v 1");
        check(" #a.b [ 3 ] . #c<>:v ", "#a.b.3.#c<>:v 1");
        check("a = :v OR b = :v AND c = :v", "(a=:v | (b=:v & c=:v)) 5");
        check("(a = :v OR b = :v) and not c = :v", "((a=:v | b=:v) & !c=:v) 6");
        check("NOT NOT a = :v", "!!a=:v 3");
        check("NOT (a = :v AND b = :v)", "!(a=:v & b=:v) 4");
        check("a BETWEEN :a AND :b AND c = :v", "(a between :a..:b & c=:v) 3");
        check("a in (:a, :b)", "a in [:a :b] 1");
        check("contains(a, :b) AND size (a) > :n", "(contains[a :b] & size[a]>:n) 2");
        check("(a) = (:v)", "a=:v 1");
        check("((a) = :v)", "a=:v 1");
        check("contains((a), :b)", "contains[a :b] 0");
        check("size(size(a)) = :v", "size[size[a]]=:v 1");
        check("f()", "f[] 0");
    }

    #[test]
    fn redundant_parentheses_are_seen() {
        let redundant = |text: &str| check(text, "The expression has redundant parentheses;");
        redundant("((a = :v))");
        redundant("((a)) = :v");
        redundant("a = ((:v))");
        redundant("b = :v AND ((a = :v AND c = :v))");
        // Before anything behind them.
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
        // But not before what can be no operand.
        check("((a)) d", "Syntax error; token: \"d\", near: \") d\"");
        check("((:v)).c = a", "Syntax error; token: \".\", near: \").c\"");
        check("contains(((a)).b, c)", "Syntax error; token: \".\", near: \").b\"");
        check("(a.b).c = d", "Syntax error; token: \".\", near: \").c\"");
        check("a = (((b))", "The expression has redundant parentheses;");
        check("a = ((b)", "Syntax error; token: \"<EOF>\", near: \")\"");
        check("((a = :v) AND (b = :v))", "(a=:v & b=:v) 3");
        check("(NOT (a = :v))", "!a=:v 2");
    }

    #[test]
    fn table_of_syntax_errors() {
        let case =
            |text: &str, token: &str, near: &str| check(text, &format!("Syntax error; token: \"{token}\", near: \"{near}\""));
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
        check("", "The expression can not be empty;");
        let long = format!("a = :{}", "v".repeat(4096));
        check(&long, "Expression size has exceeded the maximum allowed size; expression size: 4101");
        let deep = format!("a{} = :v", ".b".repeat(32));
        check(&deep, "The document path has too many nesting levels; nesting levels: 33");
        check("a[2147483648] = :v", "List index is not within the allowable range; index: [2147483648]");
        let huge = "9".repeat(40);
        check(&format!("a[{huge}] = :v"), &format!("List index is not within the allowable range; index: [{huge}]"));
        check("a[2147483648] = = :v", "Syntax error; token: \"=\", near: \"= = :v\"");
        check(&format!("a{} = ((:v))", ".b".repeat(32)), "The expression has redundant parentheses;");
        let at_most = format!("a{}[2147483647] = :v", ".b".repeat(30));
        assert!(parse_condition(&at_most).is_ok());
    }

    #[test]
    fn deep_parentheses_fail_and_legal_ones_parse() {
        for open in ["(", "NOT ", "f(", "a=(", "a = :v AND ("] {
            let text = open.repeat(4096 / open.len());
            assert!(parse_condition(&text).is_err(), "{open}");
        }
        let levels = 150;
        let text = format!("{}a=:v{}", "(".repeat(levels), " AND a=:v)".repeat(levels));
        assert_eq!(parse_condition(&text).map(|parsed| parsed.operators), Ok(301));
    }

    proptest! {
        #[test]
        fn never_panics_on_any_text(text in "\\PC{0,4096}") {
            let _ = parse_condition(&text);
        }

        #[test]
        fn never_panics_on_near_misses(words in proptest::collection::vec(
            proptest::sample::select(vec![
                "(", ")", "a", "#b", ":c", "AND", "OR", "NOT", "BETWEEN", "IN", "=", "<>", "[", "]", "0", ".", ",", "size", "_", "é",
            ]), 0..400,
        )) {
            let _ = parse_condition(&words.join(" "));
        }
    }
}
