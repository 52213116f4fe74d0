//! The clauses of a query path (`desc`, `limit=3`): their grammar, and a row of [`TABLE`] for each
//! that has a word of its own. The table serves the parser, help, suggestions, requests,
//! `explain.json`, saved requests and shell completion. Conditions on the key are in `key_clause`.
//!
//! ```text
//! clause = word [ "=" value ]                    a row of the table; its help describes the value
//!        | "where." path [ "," type ] "." operator [ "=" value ]                                      see `where_clause`
//!        | key [ "." operator ] "=" value        key = "@pk" | "@sk" | a key attribute's name         see `key_clause`
//! ```
//! The fixed words win over an attribute of the same name; such an attribute is reached as `@pk` or
//! `@sk`.

use super::{
    clause_fault::ClauseFault,
    context::{QueryContext, QueryKind},
    filter::WhereFilter,
    key_clause, near_clause,
    query_path::{
        CONSISTENT, Clauses, DESC, PartitionClause, QueryPath, ResultKind, SavedRequest, TYPED,
    },
    spelling::{self, show_path, split_clause, whole_number},
    token::PageToken,
    where_clause,
};
use crate::expr::{
    literals,
    read_request::{ReadRange, ReadRequest},
};
use crate::fs::prelude::*;
use crate::model::{
    api::Segment,
    limits::{SEGMENTS_MAX, TOP_K_MAX},
};

const ASC: &str = "asc";

/// A clause with a word of its own.
struct ClauseSpec {
    word: &'static str,
    form: ClauseForm,
    order: HelpOrder,
    /// The clause as the help writes it, and its meaning; `None` for a word that the help of
    /// another row explains.
    help: Option<(&'static str, &'static str)>,
    /// More lines of the help.
    help_lines: &'static [&'static str],
    /// The kinds that the clause works on.
    kinds: &'static [QueryKind],
    allows_gsi: bool,
    /// Applies the clauses to a request that is otherwise complete.
    apply: fn(&Clauses, &mut ReadRequest),
    /// Adds the part of a saved request that this clause stands for.
    load: fn(&SavedRequest, &mut Clauses),
    /// A filter that is made when the query runs.
    late_filter: Option<LateFilter>,
    /// Returns advice what would cost less than this clause.
    advice: fn(&QueryPath) -> Option<String>,
}

type AddClause = fn(&mut Clauses, &str, QueryContext<'_>) -> Result<bool, ClauseFault>;
type LateFilter = fn(&QueryPath, &dyn Browse) -> Result<Option<WhereFilter>, FsError>;

/// The form of a clause.
#[derive(Clone, Copy)]
enum ClauseForm {
    /// The word alone, exclusive with the other word.
    ApiEnum { against: Option<&'static str> },
    /// `word=value`; `add` returns false if there was a clause of this word.
    Value {
        example: &'static str,
        add: AddClause,
    },
    /// The text after the word.
    Prefix(AddClause),
}

/// The place of a row in the help, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum HelpOrder {
    Order,
    Condition,
    Expression,
    Hidden,
    Result,
    Part,
}

impl ClauseSpec {
    /// Creates a row that changes nothing of the request.
    const fn new(
        word: &'static str,
        form: ClauseForm,
        order: HelpOrder,
        clause: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self {
            word,
            form,
            order,
            help: Some((clause, meaning)),
            help_lines: &[],
            kinds: &[QueryKind::Query, QueryKind::Scan],
            allows_gsi: true,
            apply: |_, _| {},
            load: |_, _| {},
            late_filter: None,
            advice: |_| None,
        }
    }
}

const ALL_KINDS: &[QueryKind] = &[QueryKind::Query, QueryKind::Scan, QueryKind::Near];

/// All clauses. Of words equally near to a misspelt one the first is suggested.
static CLAUSES: &[ClauseSpec] = &[
    ClauseSpec {
        kinds: ALL_KINDS,
        advice: select_advice,
        ..ClauseSpec::new(
            "select",
            ClauseForm::Value {
                example: "select=a,b.c",
                add: add_select,
            },
            HelpOrder::Result,
            "select=a,b.c,d[0]",
            "only these attributes",
        )
    },
    ClauseSpec {
        apply: |all, request| limit_items(all.limit, request),
        ..ClauseSpec::new(
            "limit",
            ClauseForm::Value {
                example: "limit=10",
                add: |all, text, _| {
                    Ok(all
                        .limit
                        .replace(parse_count("limit", text, u64::MAX)?)
                        .is_none())
                },
            },
            HelpOrder::Result,
            "limit=<n>",
            "return at most n items",
        )
    },
    ClauseSpec {
        apply: |all, request| limit_items(all.eval, request),
        load: |saved, all| all.eval = saved.request.limit.map(u64::from),
        ..ClauseSpec::new(
            "eval",
            ClauseForm::Value {
                example: "eval=100",
                add: |all, text, _| {
                    Ok(all
                        .eval
                        .replace(parse_count("eval", text, u64::from(u32::MAX))?)
                        .is_none())
                },
            },
            HelpOrder::Result,
            "eval=<n>",
            "read at most n items, DynamoDB's Limit",
        )
    },
    ClauseSpec::new(
        "after",
        ClauseForm::Value {
            example: "after=<next of page.json>",
            add: |all, text, _| Ok(all.after.replace(PageToken::parse(text)?).is_none()),
        },
        HelpOrder::Result,
        "after=<token>",
        "start after the page whose page.json said next",
    ),
    ClauseSpec {
        allows_gsi: false,
        apply: |all, request| request.consistent_read = all.has(CONSISTENT),
        load: |saved, all| {
            if saved.request.consistent_read {
                all.add_word(CONSISTENT);
            }
        },
        advice: |path| {
            path.clauses
                .has(CONSISTENT)
                .then(|| "consistent reads cost twice as much".to_owned())
        },
        ..ClauseSpec::new(
            CONSISTENT,
            ClauseForm::ApiEnum { against: None },
            HelpOrder::Result,
            "consistent",
            "consistent read",
        )
    },
    ClauseSpec {
        kinds: ALL_KINDS,
        ..ClauseSpec::new(
            TYPED,
            ClauseForm::ApiEnum { against: None },
            HelpOrder::Result,
            "typed",
            "items in DynamoDB JSON",
        )
    },
    ClauseSpec {
        kinds: &[QueryKind::Near],
        ..ClauseSpec::new(
            "top",
            ClauseForm::Value {
                example: "top=10",
                add: |all, text, _| {
                    let top = parse_count("top", text, TOP_K_MAX.into())?;
                    Ok(all
                        .top
                        .replace(u32::try_from(top).unwrap_or(TOP_K_MAX))
                        .is_none())
                },
            },
            HelpOrder::Result,
            "top=<n>",
            "the n nearest, at most 100; 10 if not said",
        )
    },
    ClauseSpec {
        kinds: &[QueryKind::Near],
        ..ClauseSpec::new(
            "@vector",
            ClauseForm::Value {
                example: "@vector=0.1,-0.5",
                add: near_clause::add_vector,
            },
            HelpOrder::Order,
            "@vector=<n>,<n>,…",
            "from these numbers; a long vector is several clauses",
        )
    },
    ClauseSpec {
        late_filter: Some(where_clause::live_filter),
        ..ClauseSpec::new(
            "live",
            ClauseForm::ApiEnum { against: None },
            HelpOrder::Hidden,
            "live",
            "without items whose time to live is over",
        )
    },
    ClauseSpec {
        help_lines: &[
            "where=status IN (\"open\",\"held\") AND (total > 100 OR NOT paid = true)",
            literals::SYNTAX_HELP,
        ],
        ..ClauseSpec::new(
            "where",
            ClauseForm::Value {
                example: "where=total > 100",
                add: |all, text, context| {
                    Ok(all.add_filter(where_clause::parse_expression(text, context)?))
                },
            },
            HelpOrder::Expression,
            "where=<expression>",
            "the same as DynamoDB's FilterExpression:",
        )
    },
    ClauseSpec {
        help_lines: &[where_clause::OPERATORS_HELP],
        ..ClauseSpec::new(
            "where.",
            ClauseForm::Prefix(|all, text, context| {
                let (head, value) = split_clause(text);
                Ok(all.add_filter(where_clause::parse_dotted(head, value, context)?))
            }),
            HelpOrder::Condition,
            "where.<path>.<op>[=<value>]",
            "a filter: reads the same, shows what matches",
        )
    },
    ClauseSpec {
        kinds: &[QueryKind::Scan],
        apply: |all, request| {
            if let ReadRange::Scan { segment } = &mut request.range {
                *segment = all.segment;
            }
        },
        load: |saved, all| all.segment = saved.segment,
        ..ClauseSpec::new(
            "segment",
            ClauseForm::Value {
                example: "segment=0,8",
                add: |all, text, _| Ok(all.segment.replace(parse_segment(text)?).is_none()),
            },
            HelpOrder::Part,
            "segment=<i>,<n>",
            "the i-th of n parts, from 0",
        )
    },
    ClauseSpec {
        kinds: &[QueryKind::Query],
        apply: |all, request| {
            if let ReadRange::Query { forward, .. } = &mut request.range {
                *forward = !all.is_descending();
            }
        },
        load: |saved, all| {
            if !saved.request.scan_index_forward {
                all.add_word(DESC);
            }
        },
        ..ClauseSpec::new(
            DESC,
            ClauseForm::ApiEnum { against: Some(ASC) },
            HelpOrder::Order,
            "desc, asc",
            "order of the sort key; asc if not said",
        )
    },
    ClauseSpec {
        kinds: &[QueryKind::Query],
        help: None,
        ..ClauseSpec::new(
            ASC,
            ClauseForm::ApiEnum {
                against: Some(DESC),
            },
            HelpOrder::Order,
            "",
            "",
        )
    },
];

impl ClauseSpec {
    /// True if the directory's name is one of this clause.
    fn matches(&self, name: &str) -> bool {
        match self.form {
            ClauseForm::Prefix(_) => name.starts_with(self.word),
            ClauseForm::ApiEnum { .. } | ClauseForm::Value { .. } => {
                split_clause(name).0 == self.word
            }
        }
    }

    /// Returns the constant part of the name.
    fn prefix(&self) -> String {
        match self.form {
            ClauseForm::Value { .. } => format!("{}=", self.word),
            ClauseForm::ApiEnum { .. } | ClauseForm::Prefix(_) => self.word.to_owned(),
        }
    }

    fn allows(&self, kind: QueryKind) -> bool {
        self.kinds.contains(&kind)
    }

    fn check_allowed(&self, context: QueryContext<'_>) -> Result<(), ClauseFault> {
        match context.kind {
            QueryKind::Scan if !self.allows(context.kind) => {
                Err(ClauseFault::not_on_scan(self.word))
            }
            QueryKind::Query if !self.allows(context.kind) => Err(ClauseFault::new(
                format!("{} does not work on a query", self.word),
                "use scan/ beside query/",
            )),
            QueryKind::Near if !self.allows(context.kind) => Err(ClauseFault::new(
                format!("{} does not work on a search", self.word),
                "a search takes top=, select=, typed and conditions with = on its SearchSchema",
            )),
            _ if !self.allows_gsi && context.on_global_index() => Err(ClauseFault::new(
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
        context: QueryContext<'_>,
    ) -> Result<bool, ClauseFault> {
        let value = split_clause(name).1;
        match (self.form, value) {
            (ClauseForm::Value { example, .. }, None | Some("")) => {
                Err(ClauseFault::no_value(self.word, example))
            }
            (ClauseForm::Value { add, .. }, Some(value)) => {
                self.check_allowed(context)?;
                add(all, value, context)
            }
            (ClauseForm::ApiEnum { .. }, Some(_)) => Err(ClauseFault::unwanted_value(self.word)),
            (ClauseForm::ApiEnum { against }, None) => {
                self.check_allowed(context)?;
                match against {
                    Some(other) if all.has(other) => Err(ClauseFault::surplus(format!(
                        "{} and {} exclude each other",
                        self.word.min(other),
                        self.word.max(other)
                    ))),
                    _ => Ok(all.add_word(self.word)),
                }
            }
            (ClauseForm::Prefix(add), _) => {
                self.check_allowed(context)?;
                add(all, &name[self.word.len()..], context)
            }
        }
    }
}

/// True if this is the word of a clause without a value.
#[must_use]
pub fn is_word(name: &str) -> bool {
    CLAUSES
        .iter()
        .any(|row| row.word == name && matches!(row.form, ClauseForm::ApiEnum { .. }))
}

impl Clauses {
    /// Returns these clauses and one more, the name of a directory.
    pub fn with(&self, name: &str, context: QueryContext<'_>) -> Result<Self, ClauseFault> {
        let mut all = self.clone();
        let is_first = match CLAUSES.iter().find(|row| row.matches(name)) {
            Some(row) => row.add(&mut all, name, context)?,
            None => match key_clause::add(&mut all, name, context)? {
                Some(is_first) => is_first,
                None if context.kind == QueryKind::Near && !name.contains('=') => {
                    near_clause::add_item(&mut all, name, context)?
                }
                None => return Err(not_of_key(name, context)),
            },
        };
        if matches!(all.partition, PartitionClause::Shards(_)) && all.after.is_some() {
            return Err(ClauseFault::several_requests("after="));
        }
        if is_first {
            Ok(all)
        } else {
            Err(ClauseFault::surplus(format!(
                "{} is given twice",
                split_clause(name).0
            )))
        }
    }

    /// Adds the members of a saved request other than its key, its filter and its projection.
    pub fn add_saved(&mut self, request: &SavedRequest) {
        CLAUSES.iter().for_each(|row| (row.load)(request, self));
    }

    /// True if items may be evaluated that are not returned.
    pub fn is_filtered(&self) -> bool {
        !self.filters.is_empty()
            || CLAUSES
                .iter()
                .any(|row| row.late_filter.is_some() && self.has(row.word))
    }

    /// Applies these clauses to a request.
    pub fn apply_to(&self, request: &mut ReadRequest) {
        CLAUSES.iter().for_each(|row| (row.apply)(self, request));
    }

    pub fn late_filters(
        &self,
        path: &QueryPath,
        db: &dyn Browse,
    ) -> Result<Vec<WhereFilter>, FsError> {
        let late = CLAUSES
            .iter()
            .filter(|row| self.has(row.word))
            .filter_map(|row| row.late_filter);
        late.filter_map(|filter| filter(path, db).transpose())
            .collect()
    }
}

/// Returns advice what would cost less than these clauses.
pub(super) fn advice(path: &QueryPath) -> impl Iterator<Item = String> {
    CLAUSES.iter().filter_map(|row| (row.advice)(path))
}

/// Returns the lines of the help, each a clause with its meaning, or indented and without: of the
/// clauses that work in the context, or of all.
pub(super) fn help(context: Option<QueryContext<'_>>) -> Vec<(String, String)> {
    let is_here =
        |row: &&ClauseSpec| context.is_none_or(|context| row.check_allowed(context).is_ok());
    let mut rows: Vec<&ClauseSpec> = CLAUSES.iter().filter(is_here).collect();
    rows.sort_by_key(|row| row.order);
    let lines = rows.into_iter().flat_map(|row| {
        let below = row
            .help_lines
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
fn not_of_key(name: &str, context: QueryContext<'_>) -> ClauseFault {
    let is_misspelt = |head: &str| {
        let mut words = words(context).into_iter();
        words.any(|word| spelling::is_misspelling(head, &word))
    };
    match split_clause(name) {
        (head, Some(_)) if !is_misspelt(head) => {
            key_clause::filter_fault(head, context).unwrap_or_else(|| unknown(name, context))
        }
        _ => unknown(name, context),
    }
}

fn unknown(name: &str, context: QueryContext<'_>) -> ClauseFault {
    let words = words(context);
    let head = name
        .find('=')
        .map_or(name, |at| name.get(..=at).unwrap_or(name));
    let nearest = spelling::nearest(head, words.iter().map(String::as_str));
    let question = nearest.map_or_else(String::new, |word| format!("did you mean '{word}'? "));
    let hint = format!("{question}The file help here explains every clause.");
    ClauseFault::new(format!("unknown clause '{name}'"), hint)
}

/// Returns every word that may stand here, with its `=` if it has a value.
pub(super) fn words(context: QueryContext<'_>) -> Vec<String> {
    let results = ResultKind::TABLE
        .iter()
        .map(|(_, name, _)| (*name).to_owned());
    let rows = CLAUSES
        .iter()
        .filter(|row| row.allows(context.kind))
        .map(ClauseSpec::prefix);
    results
        .chain(rows)
        .chain(key_clause::words(context))
        .collect()
}

fn limit_items(items: Option<u64>, request: &mut ReadRequest) {
    let items = items.map(|items| u32::try_from(items).unwrap_or(u32::MAX));
    request.limit = request.limit.into_iter().chain(items).min();
}

fn parse_count(word: &'static str, text: &str, max: u64) -> Result<u64, ClauseFault> {
    let found = whole_number(text).filter(|number| (1..=max).contains(number));
    let expected = || match max {
        u64::MAX => "a whole number from 1".to_owned(),
        max => format!("a whole number from 1 to {max}"),
    };
    found.ok_or_else(|| count_fault(word, &expected(), text))
}

fn count_fault(word: &str, expected: &str, found: &str) -> ClauseFault {
    let hint = "whole numbers from 1; a segment's number counts from 0: segment=0,8 to segment=7,8";
    ClauseFault::new(format!("{word} takes {expected}, not '{found}'"), hint)
}

fn parse_segment(text: &str) -> Result<Segment, ClauseFault> {
    let parts = text
        .split_once(',')
        .and_then(|(index, total)| Some((whole_number(index)?, whole_number(total)?)));
    let found = parts.filter(|(index, total)| index < total && *total <= SEGMENTS_MAX);
    found
        .map(|(index, total)| Segment { index, total })
        .ok_or_else(|| {
            count_fault(
                "segment",
                "its number and how many there are, number < count ≤ 1000000",
                text,
            )
        })
}

/// Adds `select=`: the paths, each of which a global index must project. A local index fetches the
/// attributes that it lacks.
fn add_select(
    all: &mut Clauses,
    text: &str,
    context: QueryContext<'_>,
) -> Result<bool, ClauseFault> {
    let paths = spelling::document_paths(text)?;
    if let Some(index) = context.index.filter(|_| !context.fetches())
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
