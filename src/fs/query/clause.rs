//! The clauses: a row of [`TABLE`] for each that has a word of its own. The table serves the
//! parser, help, suggestions, requests, `explain.json`, saved requests and shell completion.
//! Conditions on the key are in `key_clause`.
//!
//! ```text
//! clause = word [ "=" value ]                    a row of the table; its help describes the value
//!        | "where." path [ "," type ] "." operator [ "=" value ]                                      see `where_clause`
//!        | key [ "." operator ] "=" value        key = "@pk" | "@sk" | a key attribute's name         see `key_clause`
//! ```
//! The fixed words win over an attribute of the same name; such an attribute is reached as `@pk` or
//! `@sk`.

use super::{
    fault::ClauseFault,
    filter::Filter,
    key_clause,
    path::{CONSISTENT, Clauses, DESC, Partition, QueryPath, ResultKind, SavedRequest, TYPED},
    source::{Context, QueryKind},
    spelling::{self, show_path, split, whole_number},
    token::Token,
    where_clause,
};
use crate::expr::{
    literals,
    read_request::{ReadRange, ReadRequest},
};
use crate::fs::prelude::*;
use crate::model::{api::Segment, limits::SEGMENTS_MAX};

const ASC: &str = "asc";

/// A clause with a word of its own.
struct Row {
    word: &'static str,
    form: Form,
    place: Place,
    /// The clause as the help writes it, and its meaning; `None` for a word that the help of
    /// another row explains.
    help: Option<(&'static str, &'static str)>,
    /// More lines of the help.
    below: &'static [&'static str],
    /// The only kind that the clause works on; `None` for both.
    kind: Option<QueryKind>,
    works_on_global: bool,
    /// Applies the clauses to a request that is otherwise complete.
    ask: fn(&Clauses, &mut ReadRequest),
    /// Adds the part of a saved request that this clause stands for.
    saved: fn(&SavedRequest, &mut Clauses),
    /// A filter that is made when the query runs.
    filter: Option<LateFilter>,
    /// Returns advice what would cost less than this clause.
    advice: fn(&QueryPath) -> Option<String>,
}

type Add = fn(&mut Clauses, &str, Context<'_>) -> Result<bool, ClauseFault>;
type LateFilter = fn(&QueryPath, &dyn Browse) -> Result<Option<Filter>, FsError>;

/// The form of a clause.
#[derive(Clone, Copy)]
enum Form {
    /// The word alone, exclusive with the other word.
    Word { against: Option<&'static str> },
    /// `word=value`; `add` returns false if there was a clause of this word.
    Value { example: &'static str, add: Add },
    /// The text after the word.
    Prefix(Add),
}

/// The place of a row in the help, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Order,
    Condition,
    Expression,
    Hidden,
    Result,
    Part,
}

impl Row {
    /// Creates a row that changes nothing of the request.
    const fn new(
        word: &'static str,
        form: Form,
        place: Place,
        clause: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self {
            word,
            form,
            place,
            help: Some((clause, meaning)),
            below: &[],
            kind: None,
            works_on_global: true,
            ask: |_, _| {},
            saved: |_, _| {},
            filter: None,
            advice: |_| None,
        }
    }
}

/// All clauses. Of words equally near to a misspelt one the first is suggested.
static TABLE: &[Row] = &[
    Row {
        advice: select_advice,
        ..Row::new(
            "select",
            Form::Value {
                example: "select=a,b.c",
                add: add_select,
            },
            Place::Result,
            "select=a,b.c,d[0]",
            "only these attributes",
        )
    },
    Row {
        ask: |all, request| ask_items_max(all.limit, request),
        ..Row::new(
            "limit",
            Form::Value {
                example: "limit=10",
                add: |all, text, _| {
                    Ok(all.limit.replace(count("limit", text, u64::MAX)?).is_none())
                },
            },
            Place::Result,
            "limit=<n>",
            "return at most n items",
        )
    },
    Row {
        ask: |all, request| ask_items_max(all.eval, request),
        saved: |saved, all| all.eval = saved.request.limit.map(u64::from),
        ..Row::new(
            "eval",
            Form::Value {
                example: "eval=100",
                add: |all, text, _| {
                    Ok(all
                        .eval
                        .replace(count("eval", text, u64::from(u32::MAX))?)
                        .is_none())
                },
            },
            Place::Result,
            "eval=<n>",
            "read at most n items, DynamoDB's Limit",
        )
    },
    Row::new(
        "after",
        Form::Value {
            example: "after=<next of page.json>",
            add: |all, text, _| Ok(all.after.replace(Token::parse(text)?).is_none()),
        },
        Place::Result,
        "after=<token>",
        "start after the page whose page.json said next",
    ),
    Row {
        works_on_global: false,
        ask: |all, request| request.consistent_read = all.has(CONSISTENT),
        saved: |saved, all| {
            if saved.request.consistent_read {
                all.add_word(CONSISTENT);
            }
        },
        advice: |path| {
            path.clauses
                .has(CONSISTENT)
                .then(|| "consistent reads cost twice as much".to_owned())
        },
        ..Row::new(
            CONSISTENT,
            Form::Word { against: None },
            Place::Result,
            "consistent",
            "consistent read",
        )
    },
    Row::new(
        TYPED,
        Form::Word { against: None },
        Place::Result,
        "typed",
        "items in DynamoDB JSON",
    ),
    Row {
        filter: Some(where_clause::live),
        ..Row::new(
            "live",
            Form::Word { against: None },
            Place::Hidden,
            "live",
            "without items whose time to live is over",
        )
    },
    Row {
        below: &[
            "where=status IN (\"open\",\"held\") AND (total > 100 OR NOT paid = true)",
            literals::SPELLING,
        ],
        ..Row::new(
            "where",
            Form::Value {
                example: "where=total > 100",
                add: |all, text, context| Ok(all.add_filter(where_clause::literal(text, context)?)),
            },
            Place::Expression,
            "where=<expression>",
            "the same as DynamoDB's FilterExpression:",
        )
    },
    Row {
        below: &[where_clause::OPERATORS_HELP],
        ..Row::new(
            "where.",
            Form::Prefix(|all, text, context| {
                let (head, value) = split(text);
                Ok(all.add_filter(where_clause::dotted(head, value, context)?))
            }),
            Place::Condition,
            "where.<path>.<op>[=<value>]",
            "a filter: reads the same, shows what matches",
        )
    },
    Row {
        kind: Some(QueryKind::Scan),
        ask: |all, request| {
            if let ReadRange::Scan { segment } = &mut request.range {
                *segment = all.segment;
            }
        },
        saved: |saved, all| all.segment = saved.segment,
        ..Row::new(
            "segment",
            Form::Value {
                example: "segment=0,8",
                add: |all, text, _| Ok(all.segment.replace(segment(text)?).is_none()),
            },
            Place::Part,
            "segment=<i>,<n>",
            "the i-th of n parts, from 0",
        )
    },
    Row {
        kind: Some(QueryKind::Query),
        ask: |all, request| {
            if let ReadRange::Query { forward, .. } = &mut request.range {
                *forward = !all.is_descending();
            }
        },
        saved: |saved, all| {
            if !saved.request.scan_index_forward {
                all.add_word(DESC);
            }
        },
        ..Row::new(
            DESC,
            Form::Word { against: Some(ASC) },
            Place::Order,
            "desc, asc",
            "order of the sort key; asc if not said",
        )
    },
    Row {
        kind: Some(QueryKind::Query),
        help: None,
        ..Row::new(
            ASC,
            Form::Word {
                against: Some(DESC),
            },
            Place::Order,
            "",
            "",
        )
    },
];

impl Row {
    /// True if the directory's name is one of this clause.
    fn is_named(&self, name: &str) -> bool {
        match self.form {
            Form::Prefix(_) => name.starts_with(self.word),
            Form::Word { .. } | Form::Value { .. } => split(name).0 == self.word,
        }
    }

    /// Returns the constant part of the name.
    fn start(&self) -> String {
        match self.form {
            Form::Value { .. } => format!("{}=", self.word),
            Form::Word { .. } | Form::Prefix(_) => self.word.to_owned(),
        }
    }

    fn is_of(&self, kind: QueryKind) -> bool {
        self.kind.is_none_or(|only| only == kind)
    }

    fn check_place(&self, context: Context<'_>) -> Result<(), ClauseFault> {
        match context.kind {
            QueryKind::Scan if !self.is_of(context.kind) => {
                Err(ClauseFault::not_on_scan(self.word))
            }
            QueryKind::Query if !self.is_of(context.kind) => Err(ClauseFault::new(
                format!("{} does not work on a query", self.word),
                "use scan/ beside query/",
            )),
            _ if !self.works_on_global && context.on_global_index() => Err(ClauseFault::new(
                "consistent reads are not supported on global secondary indexes",
                "leave it out, or query the table",
            )),
            _ => Ok(()),
        }
    }

    /// Adds the clause; returns false if it was given before.
    fn add(
        &self,
        all: &mut Clauses,
        name: &str,
        context: Context<'_>,
    ) -> Result<bool, ClauseFault> {
        let value = split(name).1;
        match (self.form, value) {
            (Form::Value { example, .. }, None | Some("")) => {
                Err(ClauseFault::no_value(self.word, example))
            }
            (Form::Value { add, .. }, Some(value)) => {
                self.check_place(context)?;
                add(all, value, context)
            }
            (Form::Word { .. }, Some(_)) => Err(ClauseFault::unwanted_value(self.word)),
            (Form::Word { against }, None) => {
                self.check_place(context)?;
                match against {
                    Some(other) if all.has(other) => Err(ClauseFault::surplus(format!(
                        "{} and {} exclude each other",
                        self.word.min(other),
                        self.word.max(other)
                    ))),
                    _ => Ok(all.add_word(self.word)),
                }
            }
            (Form::Prefix(add), _) => {
                self.check_place(context)?;
                add(all, &name[self.word.len()..], context)
            }
        }
    }
}

/// True if this is the word of a clause without a value.
#[must_use]
pub fn is_word(name: &str) -> bool {
    TABLE
        .iter()
        .any(|row| row.word == name && matches!(row.form, Form::Word { .. }))
}

impl Clauses {
    /// Returns these clauses and one more, the name of a directory.
    pub fn with(&self, name: &str, context: Context<'_>) -> Result<Self, ClauseFault> {
        let mut all = self.clone();
        let is_first = match TABLE.iter().find(|row| row.is_named(name)) {
            Some(row) => row.add(&mut all, name, context)?,
            None => match key_clause::add(&mut all, name, context)? {
                Some(is_first) => is_first,
                None => return Err(not_of_key(name, context)),
            },
        };
        if matches!(all.partition, Partition::Shards(_)) && all.after.is_some() {
            return Err(ClauseFault::several_requests("after="));
        }
        if is_first {
            Ok(all)
        } else {
            Err(ClauseFault::surplus(format!(
                "{} is given twice",
                split(name).0
            )))
        }
    }

    /// Adds the members of a saved request other than its key, its filter and its projection.
    pub fn add_saved(&mut self, request: &SavedRequest) {
        TABLE.iter().for_each(|row| (row.saved)(request, self));
    }

    /// True if items may be evaluated that are not returned.
    pub fn is_filtered(&self) -> bool {
        !self.filters.is_empty()
            || TABLE
                .iter()
                .any(|row| row.filter.is_some() && self.has(row.word))
    }

    /// Applies these clauses to a request.
    pub fn ask(&self, request: &mut ReadRequest) {
        TABLE.iter().for_each(|row| (row.ask)(self, request));
    }

    pub fn late_filters(&self, path: &QueryPath, db: &dyn Browse) -> Result<Vec<Filter>, FsError> {
        let late = TABLE
            .iter()
            .filter(|row| self.has(row.word))
            .filter_map(|row| row.filter);
        late.filter_map(|filter| filter(path, db).transpose())
            .collect()
    }
}

/// Returns advice what would cost less than these clauses.
pub(super) fn advice(path: &QueryPath) -> impl Iterator<Item = String> {
    TABLE.iter().filter_map(|row| (row.advice)(path))
}

/// Returns the lines of the help, each a clause with its meaning, or indented and without: of the
/// clauses that work in the context, or of all.
pub(super) fn help(context: Option<Context<'_>>) -> Vec<(String, String)> {
    let is_here = |row: &&Row| context.is_none_or(|context| row.check_place(context).is_ok());
    let mut rows: Vec<&Row> = TABLE.iter().filter(is_here).collect();
    rows.sort_by_key(|row| row.place);
    let lines = rows.into_iter().flat_map(|row| {
        let below = row
            .below
            .iter()
            .flat_map(|text| text.lines())
            .map(|line| (format!("  {line}"), String::new()));
        row.help
            .map(|(clause, meaning)| (clause.to_owned(), meaning.to_owned()))
            .into_iter()
            .chain(below)
    });
    lines.collect()
}

/// Returns the fault of a name that is neither in the table nor a condition on the key.
fn not_of_key(name: &str, context: Context<'_>) -> ClauseFault {
    let is_misspelt =
        |head: &str| spelling::misspelt(head, words(context).iter().map(String::as_str)).is_some();
    match split(name) {
        (head, Some(_)) if !is_misspelt(head) => {
            key_clause::as_filter(head, context).unwrap_or_else(|| unknown(name, context))
        }
        _ => unknown(name, context),
    }
}

fn unknown(name: &str, context: Context<'_>) -> ClauseFault {
    let words = words(context);
    let head = name
        .find('=')
        .map_or(name, |at| name.get(..=at).unwrap_or(name));
    let nearest = spelling::nearest(head, words.iter().map(String::as_str)).unwrap_or("help");
    let hint = format!("did you mean '{nearest}'? The file help here explains every clause.");
    ClauseFault::new(format!("unknown clause '{name}'"), hint)
}

/// Returns every word that may stand here, with its `=` if it has a value.
pub(super) fn words(context: Context<'_>) -> Vec<String> {
    let results = ResultKind::TABLE
        .iter()
        .map(|(_, name, _)| (*name).to_owned());
    let rows = TABLE
        .iter()
        .filter(|row| row.is_of(context.kind))
        .map(Row::start);
    results
        .chain(rows)
        .chain(key_clause::words(context))
        .collect()
}

fn ask_items_max(items: Option<u64>, request: &mut ReadRequest) {
    let items = items.map(|items| u32::try_from(items).unwrap_or(u32::MAX));
    request.limit = request.limit.into_iter().chain(items).min();
}

fn count(word: &'static str, text: &str, max: u64) -> Result<u64, ClauseFault> {
    let found = whole_number(text).filter(|number| (1..=max).contains(number));
    found.ok_or_else(|| no_count(word, "a whole number from 1", text))
}

fn no_count(word: &str, expected: &str, found: &str) -> ClauseFault {
    let hint = "whole numbers from 1; a segment's number counts from 0: segment=0,8 to segment=7,8";
    ClauseFault::new(format!("{word} takes {expected}, not '{found}'"), hint)
}

fn segment(text: &str) -> Result<Segment, ClauseFault> {
    let parts = text
        .split_once(',')
        .and_then(|(index, total)| Some((whole_number(index)?, whole_number(total)?)));
    let found = parts.filter(|(index, total)| index < total && *total <= SEGMENTS_MAX);
    found
        .map(|(index, total)| Segment { index, total })
        .ok_or_else(|| {
            no_count(
                "segment",
                "its number and how many there are, number < count ≤ 1000000",
                text,
            )
        })
}

/// Adds `select=`: the paths, each of which a global index must project. A local index fetches the
/// attributes that it lacks.
fn add_select(all: &mut Clauses, text: &str, context: Context<'_>) -> Result<bool, ClauseFault> {
    let paths = spelling::document_paths(text)?;
    if let Some(index) = context.index.filter(|_| context.on_global_index())
        && let Some(path) = paths
            .iter()
            .find(|path| !index.projects(&context.schema.key, &path.head))
    {
        return Err(ClauseFault::not_projected(index.name.as_str(), &path.head));
    }
    Ok(all.select.replace(paths).is_none())
}

/// Explains that `select=` saves no reading.
fn select_advice(path: &QueryPath) -> Option<String> {
    let shown: Vec<String> = path
        .clauses
        .select
        .as_ref()?
        .iter()
        .map(show_path)
        .collect();
    path.index.is_none().then(|| {
        format!(
            "select saves no reading: whole items are read; an index that projects only {} has smaller entries",
            shown.join(", ")
        )
    })
}
