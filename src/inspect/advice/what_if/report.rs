//! The result of a trial as Markdown.

use super::{Design, Traffic, Trial};
use crate::codec::count::plural;
use crate::codec::sanitize::code;
use crate::inspect::advice::cost::SECONDS_MIN;
use crate::inspect::advice::format::{minute, percent, units};
use crate::inspect::advice::load::Access;
use crate::inspect::sharding::PARTITION_WRITE_UNITS;

/// The characters shown of a value or expression.
const CHARS_MAX: usize = 40;

/// A row of the table: its title, and the cell of a design. A row of empty cells is left out.
type Row = (&'static str, fn(&Trial, &Design) -> String);

const ROWS: [Row; 13] = [
    ("", |_, of| of.title.clone()),
    ("partition key", |_, of| {
        code(of.partition.text(), CHARS_MAX)
    }),
    ("sort key", |_, of| {
        let sort = of.sort.as_ref();
        sort.map(|sort| code(sort.text(), CHARS_MAX))
            .unwrap_or_default()
    }),
    ("billing", |_, of| match of.provisioned {
        Some(of) => format!(
            "{} read, {} write units",
            of.read_capacity_units, of.write_capacity_units
        ),
        None => "on demand".to_owned(),
    }),
    ("items", |_, of| of.items.to_string()),
    ("distinct values", |_, of| {
        let about = if of.values.is_exact() { "" } else { "about " };
        format!("{about}{}", of.values.count())
    }),
    ("largest share of the items", |_, of| {
        let largest = of.largest();
        largest
            .map(|(name, share)| format!("{} {}", percent(share, 1.0), code(&name, CHARS_MAX)))
            .unwrap_or_default()
    }),
    ("write units a second that it allows", |_, of| {
        let allowed = |(_, share)| units(PARTITION_WRITE_UNITS as f64 / share);
        of.largest().map(allowed).unwrap_or_default()
    }),
    ("hottest key, write units a second", |trial, of| {
        hottest(trial, of, Access::Write)
    }),
    ("hottest key, read units a second", |trial, of| {
        hottest(trial, of, Access::Read)
    }),
    ("throttled by partitions in that second", |trial, of| {
        both(|access| trial.over_partitions(of, access))
    }),
    ("beyond provisioned units in 3 hours", |trial, of| {
        both(|access| trial.over_provisioned(of, access).unwrap_or_default())
    }),
    ("partitions", |_, of| of.partitions.to_string()),
];

/// Returns units of reads and of writes; nothing for none.
fn both(of: impl Fn(Access) -> f64) -> String {
    let [read, write] = Access::ALL.map(of);
    if read + write > 0.0 {
        format!("{} read, {} write units", units(read), units(write))
    } else {
        String::new()
    }
}

fn hottest(trial: &Trial, of: &Design, access: Access) -> String {
    let rates = of.rates(access);
    let most = rates.max_by(|(_, one), (_, other)| one.total_cmp(other));
    let Some((name, rate)) = most.filter(|(_, rate)| *rate > 0.0) else {
        return String::new();
    };
    let about = if trial.is_measured(of) { "" } else { "about " };
    format!(
        "{about}{} of {:.0} {}",
        units(rate),
        trial.limit(access),
        code(name, CHARS_MAX)
    )
}

/// Returns the result as Markdown, its columns aligned for a terminal.
#[must_use]
pub fn markdown(trial: &Trial) -> String {
    let mut rows: Vec<Vec<String>> = ROWS
        .iter()
        .map(|(title, cell)| {
            let cells = trial.designs.iter().map(|of| cell(trial, of));
            std::iter::once((*title).to_owned()).chain(cells).collect()
        })
        .collect();
    rows.retain(|row| row.iter().skip(1).any(|cell| !cell.is_empty()));
    rows.insert(1, vec!["---".to_owned(); trial.designs.len() + 1]);
    let mut out = format!(
        "# What if: {}\n\n{} read.\n\n",
        trial.description.schema.name,
        plural(trial.items, "item")
    );
    write_table(&mut out, &rows);
    if !trial.patterns.is_empty() {
        let titles = ["request of the last day", "units", "as it is", "what if"];
        let head = [titles, ["---"; 4]].map(|row| row.map(str::to_owned));
        let rows = head.iter().chain(&trial.patterns);
        out += "\n## Access patterns\n\n";
        write_table(&mut out, &rows.map(|row| row.to_vec()).collect::<Vec<_>>());
    }
    out += "\n## Notes\n\n";
    for note in notes(trial) {
        out += &format!("- {note}\n");
    }
    out
}

/// Writes rows with their columns aligned.
fn write_table(out: &mut String, rows: &[Vec<String>]) {
    let chars = |cell: &String| cell.chars().count();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let width = rows.iter().filter_map(|row| row.get(column)).map(chars);
            *out += &format!("| {cell:0$} ", width.max().unwrap_or(0));
        }
        *out += "|\n";
    }
}

fn notes(trial: &Trial) -> Vec<String> {
    let mut notes = Vec::new();
    for of in trial.designs.iter().skip(1) {
        let mut note = |text: String| notes.push(format!("{}: {text}", of.title));
        for (reason, (count, example)) in &of.unfit {
            note(format!(
                "{} ({}) {reason} would be left out: {}.",
                plural(*count, "item"),
                percent(*count as f64, trial.items as f64),
                code(&format!("{example}.json"), 5 * CHARS_MAX)
            ));
        }
        let lost = of.items.saturating_sub(of.keys.count());
        if of.index.is_none() && lost > 0 && of.keys.is_exact() {
            note(format!(
                "{} would overwrite others of the same key.",
                plural(lost, "item")
            ));
        }
        let suffixes = of.partition.suffixes();
        if suffixes > 1 {
            note(format!(
                "to read one value takes {suffixes} queries, unless its suffix is calculated."
            ));
        }
    }
    let prices = trial.traffic.as_ref().zip(trial.month);
    notes.extend(prices.map(|(traffic, months)| month(traffic, months)));
    notes
}

/// Returns a sentence on the price of a month.
fn month(traffic: &Traffic, [now, tried]: [f64; 2]) -> String {
    let since = minute(traffic.since_ms);
    if traffic.seconds() < SECONDS_MIN {
        return format!("Load is counted since {since}: too short for a month's price.");
    }
    format!(
        "A month at the load since {since} costs {now:.2} {} as it is and {tried:.2} so.",
        traffic.prices.currency
    )
}
