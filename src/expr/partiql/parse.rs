//! The parser of PartiQL statements, and its syntax tree (docs/dynamodb.md 19.2): names and `?`
//! stand as written. `parse_expression` parses the expressions inside; `resolve` and `values` put
//! the parameters in place.

use super::lexer::{self, PartiqlTokenKind, Symbol};
use super::parse_expression::{Expr, ExpressionNode, PartiqlParser};
use crate::expr::order::Comparator;
use crate::model::DocumentPath;
use crate::model::error::StatementError;

/// Table, and index if one is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementSource {
    pub table: String,
    pub index: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderTerm {
    pub attribute: String,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedSelect {
    /// `None` is `*`. They are checked for document paths once the table is known.
    pub columns: Option<Vec<Expr>>,
    pub source: StatementSource,
    pub condition: Option<Expr>,
    pub order: Vec<OrderTerm>,
}

/// A clause of UPDATE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateClause {
    Set(DocumentPath, Expr),
    Remove(DocumentPath),
}

/// The attributes that RETURNING asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returning {
    AllOld,
    AllNew,
    ModifiedOld,
    ModifiedNew,
}

impl Returning {
    /// Returns the words as error texts show them.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::AllOld => "ALL OLD",
            Self::AllNew => "ALL NEW",
            Self::ModifiedOld => "MODIFIED OLD",
            Self::ModifiedNew => "MODIFIED NEW",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedStatement {
    Select(ParsedSelect),
    Exists(ParsedSelect),
    Insert {
        source: StatementSource,
        value: Expr,
    },
    Update {
        source: StatementSource,
        changes: Vec<UpdateClause>,
        condition: Option<Expr>,
        returning: Option<Returning>,
    },
    Delete {
        source: StatementSource,
        condition: Option<Expr>,
        returning: Option<Returning>,
    },
}

/// A statement with its number of parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedText {
    pub statement: ParsedStatement,
    /// The number of its `?`.
    pub parameters: usize,
}

const NO_VERB: StatementError = StatementError::Syntax("Expected data manipulation");
const TRAILING_TOKEN: StatementError = StatementError::Syntax("Unexpected token after expression");
const NO_TARGET: StatementError = StatementError::Syntax("Expected identifier for simple path");

/// Parses a statement.
///
/// # Errors
/// [`StatementError`] for a fault of the text.
pub fn parse(text: &str) -> Result<ParsedText, StatementError> {
    let mut parser = PartiqlParser::new(lexer::tokens(text)?);
    let statement = parser.statement()?;
    parser.accept_symbol(Symbol::Semicolon);
    match parser.kind() {
        PartiqlTokenKind::End => Ok(ParsedText {
            statement,
            parameters: parser.parameters,
        }),
        _ => Err(TRAILING_TOKEN),
    }
}

impl PartiqlParser {
    fn statement(&mut self) -> Result<ParsedStatement, StatementError> {
        if self.accept_word("SELECT") {
            return Ok(ParsedStatement::Select(self.select()?));
        }
        if self.accept_word("INSERT") {
            return self.insert();
        }
        if self.accept_word("UPDATE") {
            return self.update();
        }
        if self.accept_word("DELETE") {
            return self.delete();
        }
        if self.accept_word("FROM") {
            return self.update_from();
        }
        if self.is_word("EXISTS") && self.is_symbol(1, Symbol::Open) {
            self.advance();
            self.advance();
            if !self.accept_word("SELECT") {
                return Err(StatementError::Syntax("Expected SELECT in EXISTS"));
            }
            let select = self.select()?;
            self.expect_symbol(Symbol::Close, TRAILING_TOKEN)?;
            return Ok(ParsedStatement::Exists(select));
        }
        Err(self.bare_expression())
    }

    /// Returns the error of a statement without a verb; the service has a text of its own for the
    /// test of a type.
    fn bare_expression(&mut self) -> StatementError {
        let is_test = |expression: &Expr| match &expression.node {
            ExpressionNode::Not(inner) => matches!(inner.node, ExpressionNode::Is { .. }),
            node => matches!(node, ExpressionNode::Is { .. }),
        };
        let is_test = self
            .expression()
            .is_ok_and(|expression| is_test(&expression));
        if is_test && self.is_at_end() {
            StatementError::BareTypeTest
        } else {
            NO_VERB
        }
    }

    fn select(&mut self) -> Result<ParsedSelect, StatementError> {
        let columns = self.columns()?;
        if !self.accept_word("FROM") {
            return Err(StatementError::Syntax("Expected FROM after the columns"));
        }
        let source = self.source(StatementError::Syntax("Unexpected term"))?;
        let condition = self.condition()?;
        let order = if self.accept_word("ORDER") {
            self.order()?
        } else {
            Vec::new()
        };
        Ok(ParsedSelect {
            columns,
            source,
            condition,
            order,
        })
    }

    fn columns(&mut self) -> Result<Option<Vec<Expr>>, StatementError> {
        let mut has_star = false;
        let mut columns = Vec::new();
        loop {
            if self.accept_symbol(Symbol::Star) {
                // The loop goes on: a fault in the list is reported before a `*` that is not alone.
                has_star = true;
            } else {
                columns.push(self.sum()?);
            }
            if !self.accept_symbol(Symbol::Comma) {
                break;
            }
        }
        self.refuse_alias()?;
        match (has_star, columns.is_empty()) {
            (true, true) => Ok(None),
            (true, false) => Err(StatementError::StarBesideOthers),
            (false, _) => Ok(Some(columns)),
        }
    }

    fn source(&mut self, fault: StatementError) -> Result<StatementSource, StatementError> {
        let source = self.source_without_alias(fault)?;
        self.refuse_alias()?;
        Ok(source)
    }

    fn source_without_alias(
        &mut self,
        fault: StatementError,
    ) -> Result<StatementSource, StatementError> {
        let table = self.name(fault)?;
        let mut more = Vec::new();
        while self.accept_symbol(Symbol::Dot) {
            more.push(self.name(StatementError::Syntax("Invalid path dot component"))?);
        }
        if more.len() > 1 {
            return Err(StatementError::SourceComponents);
        }
        if table.is_empty() || more.iter().any(String::is_empty) {
            return Err(StatementError::EmptySource);
        }
        Ok(StatementSource {
            table,
            index: more.pop(),
        })
    }

    fn refuse_alias(&self) -> Result<(), StatementError> {
        match self.kind() {
            PartiqlTokenKind::Quoted(_) => Err(StatementError::Alias),
            PartiqlTokenKind::ApiEnum(word)
                if word.eq_ignore_ascii_case("AS") || !lexer::is_keyword(word) =>
            {
                Err(StatementError::Alias)
            }
            _ => Ok(()),
        }
    }

    fn condition(&mut self) -> Result<Option<Expr>, StatementError> {
        if self.accept_word("WHERE") {
            self.expression().map(Some)
        } else {
            Ok(None)
        }
    }

    fn order(&mut self) -> Result<Vec<OrderTerm>, StatementError> {
        if !self.accept_word("BY") {
            return Err(StatementError::Syntax("Expected BY after ORDER"));
        }
        let mut order = Vec::new();
        loop {
            let attribute =
                self.name(StatementError::Syntax("Expected an attribute in ORDER BY"))?;
            let descending = self.accept_word("DESC");
            if !descending {
                self.accept_word("ASC");
            }
            order.push(OrderTerm {
                attribute,
                descending,
            });
            if !self.accept_symbol(Symbol::Comma) {
                return Ok(order);
            }
        }
    }

    fn insert(&mut self) -> Result<ParsedStatement, StatementError> {
        if !self.accept_word("INTO") {
            return Err(StatementError::Syntax("Expected INTO after INSERT"));
        }
        // INSERT has no alias: a word here is left over, and reported as such.
        let source = self.source_without_alias(NO_TARGET)?;
        if source.index.is_some() {
            return Err(StatementError::InsertIndex);
        }
        if !self.accept_word("VALUE") {
            return Err(if self.is_at_end() {
                StatementError::Syntax("Expected VALUE")
            } else {
                TRAILING_TOKEN
            });
        }
        let value = self.sum()?;
        if self.is_word("ON") && self.is_word_ahead(1, &["CONFLICT"]) {
            return Err(StatementError::OnConflict);
        }
        if self.returning()?.is_some() {
            return Err(StatementError::ReturningOfInsert);
        }
        Ok(ParsedStatement::Insert { source, value })
    }

    fn update(&mut self) -> Result<ParsedStatement, StatementError> {
        let source = self.source(NO_TARGET)?;
        let changes = self.changes()?;
        let condition = self.condition()?;
        Ok(ParsedStatement::Update {
            source,
            changes,
            condition,
            returning: self.returning()?,
        })
    }

    /// Parses `FROM t WHERE … SET …` after FROM.
    fn update_from(&mut self) -> Result<ParsedStatement, StatementError> {
        let source = self.source(NO_TARGET)?;
        let condition = self.condition()?;
        let changes = self.changes()?;
        Ok(ParsedStatement::Update {
            source,
            changes,
            condition,
            returning: self.returning()?,
        })
    }

    fn changes(&mut self) -> Result<Vec<UpdateClause>, StatementError> {
        const PATH: StatementError = StatementError::Syntax("Expected a document path");
        let mut changes = Vec::new();
        loop {
            if self.accept_word("SET") {
                loop {
                    let path = self.path(PATH)?;
                    self.expect_symbol(
                        Symbol::Comparator(Comparator::Equal),
                        StatementError::Syntax("Expected '=' in SET"),
                    )?;
                    changes.push(UpdateClause::Set(path, self.sum()?));
                    if !self.accept_symbol(Symbol::Comma) {
                        break;
                    }
                }
            } else if self.accept_word("REMOVE") {
                // One path for each REMOVE, unlike SET.
                changes.push(UpdateClause::Remove(self.path(PATH)?));
            } else if changes.is_empty() {
                return Err(StatementError::Syntax("Expected SET or REMOVE"));
            } else {
                return Ok(changes);
            }
        }
    }

    fn delete(&mut self) -> Result<ParsedStatement, StatementError> {
        if !self.accept_word("FROM") {
            return Err(StatementError::Syntax("Expected FROM after DELETE"));
        }
        let source = self.source(NO_TARGET)?;
        let condition = self.condition()?;
        Ok(ParsedStatement::Delete {
            source,
            condition,
            returning: self.returning()?,
        })
    }

    fn returning(&mut self) -> Result<Option<Returning>, StatementError> {
        if !self.accept_word("RETURNING") {
            return Ok(None);
        }
        let is_all = self.accept_word("ALL");
        if !is_all && !self.accept_word("MODIFIED") {
            return Err(StatementError::ReturningStar);
        }
        let is_old = self.accept_word("OLD");
        if !is_old && !self.accept_word("NEW") {
            return Err(StatementError::ReturningStar);
        }
        self.expect_symbol(Symbol::Star, StatementError::ReturningStar)?;
        Ok(Some(match (is_all, is_old) {
            (true, true) => Returning::AllOld,
            (true, false) => Returning::AllNew,
            (false, true) => Returning::ModifiedOld,
            (false, false) => Returning::ModifiedNew,
        }))
    }
}
