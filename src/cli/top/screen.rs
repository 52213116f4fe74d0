//! The view of `ddbfs top`, drawn with ratatui from the state: tables and indexes above, partitions
//! and hot keys of the chosen one below, or its access patterns. On a narrow terminal the least informative columns are
//! omitted first.

use clap::ValueEnum as _;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row as Cells, Table, TableState};

use crate::codec::count::{plural, throttled};
use crate::codec::sanitize::line;

use super::figures::{bar, bytes, configured, rate, rate_or_none};
use super::read::{HotKeyLine, PartitionHeat, PatternLine, SourceDetails, spending_text};
use super::state::{Sort, TopRow, TopState};

/// The width from which on the panes are side by side.
const PANES_WIDTH: u16 = 110;
/// The height below which there are no details.
const DETAILS_HEIGHT: u16 = 12;
const NAME_WIDTH: u16 = 20;
const REQUEST_WIDTH: u16 = 40;
/// The width of a partition's name.
const NUMBER_WIDTH: u16 = 4;
const BAR_WIDTH: u16 = 8;

/// The title of the column that a rate is compared with.
const PROVISIONED: &str = "of";

/// A column of figures.
struct ScreenColumn<T> {
    title: &'static str,
    width: u16,
    /// The importance, 0 first; the last columns are omitted first if there is no room.
    rank: u8,
    /// The sort order of the rows that the column stands for; its title is marked while it is in
    /// use.
    sort: Option<Sort>,
    cell: fn(&T) -> Span<'static>,
}

/// The title of the column that is left out without bulk loads.
const BULK: &str = "bulk";

const OF_SOURCES: [ScreenColumn<TopRow>; 10] = [
    ScreenColumn {
        title: "read/s",
        width: 8,
        rank: 0,
        sort: Some(Sort::Reads),
        cell: |row| rate(row.load.read).into(),
    },
    figure(PROVISIONED, 6, 4, |row| {
        configured(row.reading.provisioned.map(|u| u.read)).into()
    }),
    ScreenColumn {
        title: "write/s",
        width: 8,
        rank: 1,
        sort: Some(Sort::Writes),
        cell: |row| rate(row.load.write).into(),
    },
    figure(PROVISIONED, 6, 5, |row| {
        configured(row.reading.provisioned.map(|u| u.write)).into()
    }),
    ScreenColumn {
        title: "throttles",
        width: 10,
        rank: 2,
        sort: Some(Sort::Throttles),
        cell: |row| throttles(row.load.throttles),
    },
    ScreenColumn {
        title: "mean ms",
        width: 8,
        rank: 3,
        sort: Some(Sort::Latency),
        cell: |row| rate_or_none(row.mean_ms).into(),
    },
    figure("worst ms", 8, 6, |row| rate_or_none(row.worst_ms).into()),
    figure("items", 9, 8, |row| row.reading.items.to_string().into()),
    figure("bytes", 10, 7, |row| bytes(row.reading.bytes).into()),
    figure(BULK, 8, 9, |row| rate(row.reading.bulk).into()),
];

/// Returns a column that stands for no order.
const fn figure<T>(
    title: &'static str,
    width: u16,
    rank: u8,
    cell: fn(&T) -> Span<'static>,
) -> ScreenColumn<T> {
    ScreenColumn {
        title,
        width,
        rank,
        sort: None,
        cell,
    }
}

const OF_PARTITIONS: [ScreenColumn<PartitionHeat>; 7] = [
    figure("%", 5, 0, |one| rate(one.percent).into()),
    figure("peak %", 6, 1, |one| rate(one.busiest_percent).into()),
    figure("read/s", 7, 2, |one| rate(one.read_per_second).into()),
    figure("write/s", 7, 3, |one| rate(one.write_per_second).into()),
    figure("throttles", 9, 4, |one| throttles(one.throttles)),
    figure("items", 8, 6, |one| one.items.to_string().into()),
    figure("bytes", 10, 5, |one| bytes(one.bytes).into()),
];

const OF_KEYS: [ScreenColumn<HotKeyLine>; 4] = [
    figure("read/s", 8, 0, |key| rate(key.read_per_second).into()),
    figure("write/s", 8, 1, |key| rate(key.write_per_second).into()),
    figure("throttles", 9, 2, |key| throttles(key.throttles)),
    figure("in", 5, 3, |key| key.partition.clone().into()),
];

const OF_PATTERNS: [ScreenColumn<PatternLine>; 7] = [
    figure("requests", 8, 2, |one| one.requests.to_string().into()),
    figure("read", 7, 0, |one| rate(one.read_units).into()),
    figure("write", 7, 1, |one| rate(one.write_units).into()),
    figure("evaluated", 9, 5, |one| one.evaluated.to_string().into()),
    figure("returned", 8, 6, |one| one.returned.to_string().into()),
    figure("p99 ms", 6, 4, |one| rate_or_none(one.p99_ms).into()),
    figure("throttled", 9, 3, |one| throttles(one.throttled)),
];

/// Returns the columns that fit beside `other` cells, in their order.
fn fitting<T>(
    columns: &'static [ScreenColumn<T>],
    width: u16,
    other: u16,
) -> Vec<&'static ScreenColumn<T>> {
    let mut by_rank: Vec<&ScreenColumn<T>> = columns.iter().collect();
    by_rank.sort_by_key(|column| column.rank);
    let mut left = width.saturating_sub(other);
    let ranks = by_rank.iter().take_while(|column| {
        let fits = column.width < left;
        left = left.saturating_sub(column.width + 1);
        fits
    });
    let most = ranks.map(|column| column.rank).last();
    columns
        .iter()
        .filter(|column| Some(column.rank) <= most)
        .collect()
}

fn throttles(count: u64) -> Span<'static> {
    if count == 0 {
        Span::from("0")
    } else {
        Span::from(count.to_string()).red().bold()
    }
}

/// Returns the end of a path, which tells more than its beginning.
fn tail(path: &str, width: u16) -> String {
    let width = usize::from(width);
    if Span::raw(path).width() <= width {
        return path.to_owned();
    }
    let ends = path.char_indices().map(|(at, _)| &path[at..]);
    let end = ends
        .into_iter()
        .find(|end| Span::raw(*end).width() < width)
        .unwrap_or_default();
    format!("…{end}")
}

/// Returns the width that columns leave, with a blank before each.
fn remaining_width<T>(columns: &[&ScreenColumn<T>], width: u16) -> u16 {
    columns
        .iter()
        .fold(width, |left, column| left.saturating_sub(column.width + 1))
}

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, state: &TopState) {
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(title(state, head.width), head);
    frame.render_widget(help(state, foot.width), foot);
    if body.height < DETAILS_HEIGHT {
        return sources(frame, body, state);
    }
    let wanted = u16::try_from(state.shown().len())
        .unwrap_or(u16::MAX)
        .saturating_add(2);
    let above = wanted.clamp(4, body.height / 2);
    let [above, below] =
        Layout::vertical([Constraint::Length(above), Constraint::Min(0)]).areas(body);
    sources(frame, above, state);
    let Some(details) = &state.details else {
        return;
    };
    if state.shows_patterns {
        return patterns(frame, below, details);
    }
    let lines = u16::try_from(details.partitions.len())
        .unwrap_or(u16::MAX)
        .saturating_add(2);
    let [first, second] = match below.width < PANES_WIDTH {
        true => Layout::vertical([
            Constraint::Length(lines.min(below.height / 2)),
            Constraint::Fill(1),
        ])
        .areas(below),
        false => Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)])
            .spacing(1)
            .areas(below),
    };
    partitions(frame, first, details);
    keys(frame, second, details);
}

fn title(state: &TopState, width: u16) -> Line<'static> {
    let shown = state.shown().len();
    let line = match &state.problem {
        Some(trouble) => Span::from(format!("  {trouble}")).red().bold(),
        None => Span::from(format!(
            "  {shown} of {} tables and indexes, by {}",
            state.count(),
            state.sort.name()
        )),
    };
    let (requests, events) = state.throttled();
    let refused = match (events, &state.problem) {
        (0, _) | (_, Some(_)) => Span::default(),
        _ => Span::from(format!("  {}", throttled(&requests, events))).red(),
    };
    let spent = state
        .spent
        .as_ref()
        .map(|spent| Span::from(format!("  {}", spending_text(spent))))
        .unwrap_or_default();
    let name = "ddbfs top ";
    let mut spans = vec![refused, spent];
    let used = name.len() + spans.iter().map(Span::width).sum::<usize>();
    let width = usize::from(width);
    // A problem comes first and may be cut. The number of rows is left out where it has no room.
    if state.problem.is_some() {
        spans.insert(0, line);
    } else if used + line.width() < width {
        spans.push(line);
    }
    let used = name.len() + spans.iter().map(Span::width).sum::<usize>();
    let room = u16::try_from(width.saturating_sub(used)).unwrap_or(u16::MAX);
    let mount = Span::from(format!("{name}{}", tail(&state.mount, room))).bold();
    Line::from_iter([mount].into_iter().chain(spans))
}

fn help(state: &TopState, width: u16) -> Line<'static> {
    if state.is_typing {
        return Line::from(vec![
            Span::from(format!("/{}", state.filter)),
            Span::from(" ").reversed(),
            Span::from("  Enter keeps it, Esc takes it away").dim(),
        ]);
    }
    let sorts = Sort::value_variants().iter().map(|sort| sort.name());
    let sorts: Vec<String> = sorts.map(|name| format!("{} {name}", &name[..1])).collect();
    let filter = if state.filter.is_empty() {
        "filter".to_owned()
    } else {
        format!("filter: {}", state.filter)
    };
    let long = format!(
        "q quit  ↑↓ choose  / {filter}  m minute, hour, day  a access patterns  sort: {}",
        sorts.join(" ")
    );
    if long.chars().count() <= usize::from(width) {
        return Line::from(long).dim();
    }
    let letters: Vec<&str> = sorts.iter().map(|sort| &sort[..1]).collect();
    Line::from(format!(
        "q quit  ↑↓ choose  m window  a access patterns  {} sort  / {filter}",
        letters.join(" ")
    ))
    .dim()
}

/// Makes a table with the first columns `heads`, and figures in the others. A line is its cells for
/// the first columns, the value with its figures, and a style.
fn figures<'t, T: 't>(
    heads: Vec<(Span<'static>, Constraint)>,
    columns: &[&ScreenColumn<T>],
    sort: Option<Sort>,
    lines: impl Iterator<Item = (Vec<Cell<'static>>, &'t T, Style)>,
) -> Table<'static> {
    let titles = columns
        .iter()
        .map(|column| right(marked(column.title, sort.is_some() && column.sort == sort)));
    let widths: Vec<Constraint> = heads
        .iter()
        .map(|(_, width)| *width)
        .chain(
            columns
                .iter()
                .map(|column| Constraint::Length(column.width)),
        )
        .collect();
    let rows = lines.map(|(cells, of, style)| {
        let figures = columns.iter().map(|column| right((column.cell)(of)));
        Cells::new(cells.into_iter().chain(figures)).style(style)
    });
    let header = heads
        .into_iter()
        .map(|(title, _)| Cell::from(title))
        .chain(titles);
    Table::new(rows, widths).header(Cells::new(header).style(Modifier::DIM))
}

fn sources(frame: &mut Frame<'_>, area: Rect, state: &TopState) {
    let window = state.window.name();
    let title = match state.seconds {
        Some(seconds) => format!(
            "last {seconds:.1} seconds; throttles of the last {window}, latency of two minutes"
        ),
        None => format!("last {window}, latency of two minutes"),
    };
    let area = pane(frame, area, title);
    let shown = state.shown();
    let mut columns = fitting(&OF_SOURCES, area.width, NAME_WIDTH);
    let is_provisioned = shown.iter().any(|row| row.reading.provisioned.is_some());
    columns.retain(|column| is_provisioned || column.title != PROVISIONED);
    let has_bulk = shown.iter().any(|row| row.reading.bulk > 0.0);
    columns.retain(|column| has_bulk || column.title != BULK);
    let width = remaining_width(&columns, area.width);
    let lines = shown.iter().map(|row| {
        let style = if row.is_near_provisioned() {
            Style::new().fg(Color::Yellow)
        } else {
            Style::new()
        };
        (
            vec![Cell::from(tail(&row.reading.path, width))],
            *row,
            style,
        )
    });
    let name = (
        marked("table or index", state.sort == Sort::Name),
        Constraint::Fill(1),
    );
    let table = figures(vec![name], &columns, Some(state.sort), lines)
        .row_highlight_style(Modifier::REVERSED);
    frame.render_stateful_widget(
        table,
        area,
        &mut TableState::new().with_selected(state.index()),
    );
}

fn marked(title: &str, is_sorted: bool) -> Span<'static> {
    if is_sorted {
        Span::from(title.to_owned()).bold().underlined()
    } else {
        Span::from(title.to_owned())
    }
}

fn right(text: Span<'static>) -> Cell<'static> {
    Cell::from(Line::from(text).right_aligned())
}

/// Draws a frame with a title; returns the area inside.
fn pane(frame: &mut Frame<'_>, area: Rect, title: String) -> Rect {
    let block = Block::new().borders(Borders::TOP).title(title);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    inside
}

/// Draws a frame for the details of a table or index. The window comes first, as a long path is
/// cut.
fn pane_of(frame: &mut Frame<'_>, area: Rect, details: &SourceDetails, what: &str) -> Rect {
    let head = format!("last {}: {what} of ", details.window.name());
    let room = area
        .width
        .saturating_sub(u16::try_from(head.chars().count()).unwrap_or(u16::MAX));
    pane(frame, area, head + &tail(&details.path, room))
}

/// Returns the hottest partitions that fit, in the order of their ranges.
fn hottest(details: &SourceDetails, count: usize) -> Vec<&PartitionHeat> {
    let mut places: Vec<(usize, &PartitionHeat)> = details.partitions.iter().enumerate().collect();
    places.sort_by(|(_, one), (_, other)| {
        other
            .percent
            .total_cmp(&one.percent)
            .then(other.bytes.cmp(&one.bytes))
    });
    places.truncate(count);
    places.sort_by_key(|(place, _)| *place);
    places.into_iter().map(|(_, partition)| partition).collect()
}

fn partitions(frame: &mut Frame<'_>, area: Rect, details: &SourceDetails) {
    let lines = usize::from(area.height.saturating_sub(2));
    let shown = hottest(details, lines);
    let count = match (details.partitions.len(), shown.len()) {
        (all, shown) if all > shown => format!("the {shown} hottest of {all} partitions"),
        (all, _) => plural(all as u64, "partition"),
    };
    let inside = pane_of(frame, area, details, &count);
    let columns = fitting(
        &OF_PARTITIONS,
        inside.width,
        NUMBER_WIDTH + 2 * BAR_WIDTH + 6,
    );
    let width =
        remaining_width(&columns, inside.width).saturating_sub(NUMBER_WIDTH + BAR_WIDTH + 2);
    let largest = details.partitions.iter().map(|one| one.bytes).max();
    let largest = largest.unwrap_or_default().max(1) as f64;
    let lines = shown.into_iter().map(|one| {
        let bytes = bar(one.bytes as f64 / largest, BAR_WIDTH);
        let bytes = Cell::from(Span::from(bytes).blue());
        (
            vec![Cell::from(one.name.clone()), load_bar(one, width), bytes],
            one,
            Style::new(),
        )
    });
    let heads = [("", NUMBER_WIDTH), ("load", width), ("bytes", BAR_WIDTH)];
    let heads = heads.map(|(title, width)| (Span::from(title), Constraint::Length(width)));
    frame.render_widget(figures(heads.into(), &columns, None, lines), inside);
}

/// Draws the load relative to the partition's limits, and lighter the excess of the busiest second:
/// green, from half on yellow, from four fifths on red.
fn load_bar(partition: &PartitionHeat, width: u16) -> Cell<'static> {
    let colour = match partition.percent.max(partition.busiest_percent) {
        percent if percent >= 80.0 => Color::Red,
        percent if percent >= 50.0 => Color::Yellow,
        _ => Color::Green,
    };
    let mean = bar(partition.percent / 100.0, width);
    let peak = bar(partition.busiest_percent / 100.0, width)
        .chars()
        .count();
    let more = "░".repeat(peak.saturating_sub(mean.chars().count()));
    Cell::from(Span::from(mean + &more).fg(colour))
}

fn patterns(frame: &mut Frame<'_>, area: Rect, details: &SourceDetails) {
    let inside = pane_of(frame, area, details, "access patterns");
    if details.patterns.is_empty() {
        return frame.render_widget(Paragraph::new("no requests").dim(), inside);
    }
    let columns = fitting(&OF_PATTERNS, inside.width, REQUEST_WIDTH);
    let width = usize::from(remaining_width(&columns, inside.width));
    let lines = details.patterns.iter().map(|one| {
        let request = line(&one.request, width.saturating_sub(1));
        (vec![Cell::from(request)], one, Style::new())
    });
    let heads = vec![(Span::from("request"), Constraint::Fill(1))];
    frame.render_widget(figures(heads, &columns, None, lines), inside);
}

fn keys(frame: &mut Frame<'_>, area: Rect, details: &SourceDetails) {
    let inside = pane_of(frame, area, details, "hottest keys");
    if details.keys.is_empty() {
        return frame.render_widget(Paragraph::new("no load").dim(), inside);
    }
    let columns = fitting(&OF_KEYS, inside.width, NAME_WIDTH);
    let width = remaining_width(&columns, inside.width);
    let lines = details
        .keys
        .iter()
        .map(|key| (vec![Cell::from(tail(&key.name, width))], key, Style::new()));
    frame.render_widget(
        figures(
            vec![(Span::from("key"), Constraint::Fill(1))],
            &columns,
            None,
            lines,
        ),
        inside,
    );
}
