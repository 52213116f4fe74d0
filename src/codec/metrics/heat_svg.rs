//! The heat of a table as a picture: for the base and each global index a lane of its partitions in the order of the hash space, as
//! wide as what lies in them, as hot as what was asked of them in a window, with the hottest keys named.
//!
//! Plain SVG with its own style: no script, no font, no link; light or dark as the reader's screen is.

use std::fmt::Write as _;

use crate::model::layout::{HotKey, PartitionContent, PartitionLimits, PartitionReport, TimeSpan, Window};

/// A table's base or one of its global indexes.
#[derive(Debug, Clone)]
pub struct Lane {
    pub title: String,
    /// What the loads are of.
    pub window: Window,
    pub partitions: Vec<(PartitionReport, PartitionContent)>,
    /// The hottest first, with their names.
    pub keys: Vec<(HotKey, String)>,
}

/// Heats that have a colour of their own: shares of a partition's limits, in percent, from which each begins.
const STEPS: [(f64, &str); 7] = [(0.0, "0"), (1.0, "1"), (10.0, "10"), (30.0, "30"), (60.0, "60"), (80.0, "80"), (100.0, "100 %")];

const WIDTH: f64 = 1000.0;
const MARGIN: f64 = 40.0;
const INNER: f64 = WIDTH - 2.0 * MARGIN;
const HEAD: f64 = 100.0;
const SCALE_HEIGHT: f64 = 10.0;
const FUNNEL_HEIGHT: f64 = 34.0;
const BOX_HEIGHT: f64 = 64.0;
const KEY_HEIGHT: f64 = 21.0;
const MARK_RADIUS: f64 = 8.0;
const BAR_WIDTH: f64 = 180.0;
const LANE_TITLE: f64 = 46.0;
const LANE_GAP: f64 = 34.0;
/// Keys named in a lane.
pub const KEYS_MAX: usize = 6;
/// Characters of a key's name; longer ones are cut.
const NAME_CHARS_MAX: usize = 36;
/// A partition without items is still seen.
const BOX_WIDTH_MIN: f64 = 4.0;
/// Boxes narrower than this have no text in them.
const LABEL_WIDTH_MIN: f64 = 46.0;

const STYLE: &str = "\
text{font:13px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#1d2733}
.paper{fill:#fbfbf9}.big{font-size:22px;font-weight:650}.lane{font-size:15px;font-weight:650}.dim{fill:#5d6b7a}.small{font-size:11px}
.mono{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:12px}.mid{text-anchor:middle}.end{text-anchor:end}
.rule{stroke:#8a97a5;stroke-width:1;fill:none}.funnel{fill:#8a97a5;fill-opacity:.13}.odd{fill-opacity:.26}
.box{stroke:#fbfbf9;stroke-width:1.5}.dot{fill:#1d2733;stroke:#fbfbf9;stroke-width:1.5}.rank{font-size:10.5px;font-weight:700;fill:#fff}
.track{fill:#e6eaee}.bar{fill:#cf2f33}
.h0{fill:#dfe5ea}.h1{fill:#fdecc8}.h2{fill:#fdcf86}.h3{fill:#f9a254}.h4{fill:#ee6a3a}.h5{fill:#cf2f33}.h6{fill:#8d0f3b}
.on{fill:#1d2733}.hot{fill:#fff}
@media (prefers-color-scheme:dark){text{fill:#e6ebf0}.paper{fill:#12171d}.dim{fill:#97a5b3}.rule{stroke:#5a6876}.funnel{fill:#9fb0c0}
.box{stroke:#12171d}.dot{fill:#e6ebf0;stroke:#12171d}.rank{fill:#12171d}.track{fill:#232c35}.bar{fill:#f04d45}
.h0{fill:#2a343e}.h1{fill:#4d4630}.h2{fill:#7d5c23}.h3{fill:#b8701f}.h4{fill:#e0662c}.h5{fill:#f04d45}.h6{fill:#ff86a8}
.on{fill:#f4f7fa}.hot{fill:#12171d}}";

/// The picture of a table, with the loads of a window.
#[must_use]
pub fn render(table: &str, time: &TimeSpan, limits: &PartitionLimits, lanes: &[Lane]) -> String {
    let height = HEAD + lanes.iter().map(|lane| lane_height(lane) + LANE_GAP).sum::<f64>() + 30.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>Heat of {name}</title>\n<style>{STYLE}</style>\n<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
        name = escape(table)
    );
    head(&mut out, table, time, lanes);
    let mut top = HEAD;
    for lane in lanes {
        draw(&mut out, lane, top);
        top += lane_height(lane) + LANE_GAP;
    }
    let foot = format!(
        "Ranges, heat and splits model DynamoDB ({} read and {} write units a second for a partition); items and bytes are counted.",
        limits.read_units_max, limits.write_units_max
    );
    text(&mut out, (MARGIN, height - 18.0), "small dim", &foot);
    out.push_str("</svg>\n");
    out
}

fn lane_height(lane: &Lane) -> f64 {
    let keys = lane.keys.len().min(KEYS_MAX);
    let keys = keys as f64 * KEY_HEIGHT;
    LANE_TITLE + SCALE_HEIGHT + FUNNEL_HEIGHT + BOX_HEIGHT + if keys > 0.0 { keys + 22.0 } else { 0.0 }
}

fn head(out: &mut String, table: &str, time: &TimeSpan, lanes: &[Lane]) {
    let name = time.window.name();
    text(out, (MARGIN, 42.0), "big", table);
    let sum = |value: fn(&PartitionReport) -> f64| {
        lanes.iter().flat_map(|lane| &lane.partitions).map(|(report, _)| value(report)).sum::<f64>() / time.window.seconds()
    };
    let (reads, writes) = (sum(|report| report.load.read), sum(|report| report.load.write));
    let throttles: u64 = lanes.iter().flat_map(|lane| &lane.partitions).map(|(report, _)| report.load.throttles()).sum();
    let asked = match reads + writes > 0.0 || throttles > 0 {
        true => format!("last {name}: {} RCU/s, {} WCU/s, {throttles} throttled", short(reads), short(writes)),
        false => format!("nothing was asked for in the last {name}"),
    };
    text(out, (MARGIN, 64.0), "dim", &asked);
    // The legend.
    let step = 46.0;
    let left = WIDTH - MARGIN - step * STEPS.len() as f64;
    text(out, (left, 34.0), "small dim", "heat: share of a partition's limits");
    let mut x = left;
    for (place, (_, label)) in STEPS.iter().enumerate() {
        let _ = writeln!(out, "<rect class=\"h{place}\" x=\"{x:.1}\" y=\"42\" width=\"{:.1}\" height=\"12\"/>", step - 2.0);
        text(out, (x, 68.0), "small dim", label);
        x += step;
    }
}

/// A box: where it is, in pixels.
#[derive(Clone, Copy)]
struct Span {
    from: f64,
    width: f64,
}

/// Widths by bytes, none too narrow to be seen.
fn spans(partitions: &[(PartitionReport, PartitionContent)]) -> Vec<Span> {
    let count = partitions.len().max(1) as f64;
    // Thousands of partitions have half of the width for their least, and the other half by their bytes.
    let least = BOX_WIDTH_MIN.min(INNER / 2.0 / count);
    let bytes: f64 = partitions.iter().map(|(_, content)| content.billed_bytes as f64).sum();
    let mut from = MARGIN;
    let span = |(_, content): &(PartitionReport, PartitionContent)| {
        let share = if bytes > 0.0 { content.billed_bytes as f64 / bytes } else { 1.0 / count };
        let span = Span { from, width: least + (INNER - least * count) * share };
        from += span.width;
        span
    };
    partitions.iter().map(span).collect()
}

fn draw(out: &mut String, lane: &Lane, top: f64) {
    let bytes: u64 = lane.partitions.iter().map(|(_, content)| content.billed_bytes).sum();
    let items: u64 = lane.partitions.iter().map(|(_, content)| content.items).sum();
    text(out, (MARGIN, top + 14.0), "lane", &lane.title);
    let sum = format!("{} partitions, {} items, {}", lane.partitions.len(), thousands(items), human(bytes));
    text(out, (WIDTH - MARGIN, top + 14.0), "dim end", &sum);
    let scale = top + LANE_TITLE;
    let boxes = scale + SCALE_HEIGHT + FUNNEL_HEIGHT;
    let spans = spans(&lane.partitions);
    hash_scale(out, scale);
    for (place, ((report, content), span)) in lane.partitions.iter().zip(&spans).enumerate() {
        funnel(out, (scale + SCALE_HEIGHT, boxes), report, *span, place % 2 == 1);
        partition(out, boxes, lane.window, (report, content), *span);
    }
    hot_keys(out, lane, &spans, boxes);
}

/// The hash space, evenly.
fn hash_scale(out: &mut String, y: f64) {
    let _ = writeln!(out, "<path class=\"rule\" d=\"M{MARGIN} {y:.1}H{:.1}\"/>", MARGIN + INNER);
    for quarter in 0..=4_u32 {
        let x = MARGIN + INNER * f64::from(quarter) / 4.0;
        let _ = writeln!(out, "<path class=\"rule\" d=\"M{x:.1} {:.1}v4\"/>", y - 4.0);
    }
    text(out, (MARGIN, y - 6.0), "small dim", "hash 00…");
    text(out, (MARGIN + INNER, y - 6.0), "small dim end", "ff…");
}

/// From the range of hashes to the box.
fn funnel(out: &mut String, (top, bottom): (f64, f64), report: &PartitionReport, span: Span, odd: bool) {
    let (from, to) = (hash_x(&report.range.from), report.range.to.as_deref().map_or(MARGIN + INNER, hash_x));
    let middle = f64::midpoint(top, bottom);
    let (left, right) = (span.from, span.from + span.width);
    let class = if odd { "funnel odd" } else { "funnel" };
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"M{from:.1} {top:.1}C{from:.1} {middle:.1} {left:.1} {middle:.1} {left:.1} {bottom:.1}H{right:.1}\
         C{right:.1} {middle:.1} {to:.1} {middle:.1} {to:.1} {top:.1}Z\"/>"
    );
}

/// Where a hash is on the even scale, by its first four bytes.
fn hash_x(place: &[u8]) -> f64 {
    // Four are finer than any pixel.
    let byte = |at: usize| place.get(at).copied().unwrap_or(0);
    let first = u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)]);
    MARGIN + INNER * f64::from(first) / 4_294_967_296.0
}

fn partition(out: &mut String, y: f64, window: Window, (report, content): (&PartitionReport, &PartitionContent), span: Span) {
    let step = step_of(report.share);
    let tip = format!(
        "p{:02}: {} items, {}, {} RCU/s, {} WCU/s, {} throttled, {:.0} % of its limits; by {}",
        report.id,
        thousands(content.items),
        human(content.billed_bytes),
        short(report.load.read / window.seconds()),
        short(report.load.write / window.seconds()),
        report.load.throttles(),
        report.share * 100.0,
        report.origin.name()
    );
    let _ = writeln!(
        out,
        "<g><title>{}</title><rect class=\"box h{step}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BOX_HEIGHT}\" rx=\"3\"/>",
        escape(&tip),
        span.from,
        span.width
    );
    if span.width >= LABEL_WIDTH_MIN {
        let (x, ink) = (span.from + span.width / 2.0, if step >= 5 { "hot" } else { "on" });
        text(out, (x, y + 22.0), &format!("mid {ink}"), &format!("p{:02}", report.id));
        text(out, (x, y + 38.0), &format!("mid small {ink}"), &human(content.billed_bytes));
        let heat = if report.share > 0.0 { percent(report.share) } else { "idle".to_owned() };
        text(out, (x, y + 53.0), &format!("mid small {ink}"), &heat);
    }
    out.push_str("</g>\n");
}

/// The hottest keys: a number where each is, and a line about it below.
fn hot_keys(out: &mut String, lane: &Lane, spans: &[Span], boxes: f64) {
    let whole: f64 = lane.partitions.iter().map(|(report, _)| report.load.weight()).sum();
    let mut y = boxes + BOX_HEIGHT + 30.0;
    let mut marks: Vec<f64> = Vec::new();
    for (rank, (key, name)) in lane.keys.iter().take(KEYS_MAX).enumerate() {
        let position = lane.partitions.iter().position(|(report, _)| report.id == key.partition);
        let Some((span, (report, _))) = position.and_then(|at| Some((spans.get(at)?, lane.partitions.get(at)?))) else { continue };
        let (from, to) = (hash_x(&report.range.from), report.range.to.as_deref().map_or(MARGIN + INNER, hash_x));
        let inside = if to > from { ((hash_x(&key.digest) - from) / (to - from)).clamp(0.0, 1.0) } else { 0.5 };
        let wanted = (span.from + span.width * inside).clamp(MARGIN + MARK_RADIUS, MARGIN + INNER - MARK_RADIUS);
        let x = beside(&marks, wanted);
        marks.push(x);
        circle(out, (x, boxes + BOX_HEIGHT), rank);
        key_line(out, y, lane.window, (rank, key, name), if whole > 0.0 { key.load.weight() / whole } else { 0.0 });
        y += KEY_HEIGHT;
    }
}

/// The nearest place to the left or right where no mark is yet.
fn beside(marks: &[f64], wanted: f64) -> f64 {
    let is_free = |x: &f64| marks.iter().all(|mark| (mark - x).abs() >= 2.0 * MARK_RADIUS);
    let near = marks.iter().flat_map(|mark| [mark - 2.0 * MARK_RADIUS, mark + 2.0 * MARK_RADIUS]);
    let near = near.filter(|x| (MARGIN + MARK_RADIUS..=MARGIN + INNER - MARK_RADIUS).contains(x));
    let mut free: Vec<f64> = std::iter::once(wanted).chain(near).filter(is_free).collect();
    free.sort_by(|a, b| (a - wanted).abs().total_cmp(&(b - wanted).abs()));
    free.first().copied().unwrap_or(wanted)
}

fn key_line(out: &mut String, y: f64, window: Window, (rank, key, name): (usize, &HotKey, &str), share: f64) {
    circle(out, (MARGIN + MARK_RADIUS, y - 4.5), rank);
    text(out, (MARGIN + 26.0, y), "mono", &cut(name));
    text(out, (380.0, y), "dim", &format!("p{:02}", key.partition));
    let width = (BAR_WIDTH * share).clamp(1.0, BAR_WIDTH);
    let _ = writeln!(out, "<rect class=\"track\" x=\"440\" y=\"{:.1}\" width=\"{BAR_WIDTH}\" height=\"10\" rx=\"2\"/>", y - 9.5);
    let _ = writeln!(out, "<rect class=\"bar\" x=\"440\" y=\"{:.1}\" width=\"{width:.1}\" height=\"10\" rx=\"2\"/>", y - 9.5);
    text(out, (440.0 + BAR_WIDTH + 10.0, y), "", &format!("{} of the load", percent(share)));
    let a_second = |units: f64| short(units / window.seconds());
    text(out, (840.0, y), "dim end", &format!("{} RCU/s", a_second(key.load.read)));
    text(out, (WIDTH - MARGIN, y), "dim end", &format!("{} WCU/s", a_second(key.load.write)));
}

fn circle(out: &mut String, (x, y): (f64, f64), rank: usize) {
    let _ = writeln!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{MARK_RADIUS}\"/>");
    text(out, (x, y + 3.8), "rank mid", &(rank + 1).to_string());
}

fn step_of(share: f64) -> usize {
    let percent = share * 100.0;
    if percent <= 0.0 {
        return 0;
    }
    STEPS.iter().rposition(|(from, _)| percent >= *from).unwrap_or(0).max(1)
}

fn text(out: &mut String, (x, y): (f64, f64), class: &str, content: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>", escape(content));
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

/// What XML allows in text and attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            control if control.is_control() => out.push('\u{FFFD}'),
            other => out.push(other),
        }
    }
    out
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        small if small < 1.0 => "<1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// Three digits or so.
fn short(number: f64) -> String {
    match number {
        n if n >= 10_000.0 => format!("{:.1}k", n / 1e3),
        n if n >= 10.0 => format!("{n:.0}"),
        n if n > 0.0 && n < 0.05 => "<0.1".to_owned(),
        n => format!("{n:.1}"),
    }
}

fn human(bytes: u64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 || value >= 10.0 { format!("{value:.0} {}", units[unit]) } else { format!("{value:.1} {}", units[unit]) }
}

fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heats_have_steps_and_numbers_are_short() {
        for (share, step) in [(0.0, 0), (0.0001, 1), (0.05, 1), (0.1, 2), (0.79, 4), (0.8, 5), (1.0, 6), (7.0, 6)] {
            assert_eq!(step_of(share), step, "{share}");
        }
        let bytes = [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KB"), (10 * 1024 * 1024, "10 MB")];
        bytes.iter().for_each(|(count, expected)| assert_eq!(human(*count), *expected));
        assert_eq!((thousands(999), thousands(1_234_567)), ("999".to_owned(), "1,234,567".to_owned()));
        assert_eq!(
            (short(12_345.0), short(0.01), short(3.25), short(0.0)),
            ("12.3k".into(), "<0.1".into(), "3.2".into(), "0.0".into())
        );
    }

    #[test]
    fn names_cannot_break_the_picture() {
        assert_eq!(escape("a<b>&\"\u{7}"), "a&lt;b&gt;&amp;&quot;\u{FFFD}");
        assert_eq!(cut(&"ä".repeat(40)), format!("{}…", "ä".repeat(36)));
    }
}
