//! The lane of the heat picture for a table's base or an index: its consumption of its units, its
//! partitions as rows in the order of the hash space, and its outstanding keys.

use super::canvas::{Canvas, MARGIN, RIGHT, count, human_bytes, percent, plural, rate};
use super::data::{
    HeatLane, HeatMap, KEYS_MAX, LoadLimits, NamedKey, ReadWrite, only, rates, shares, step, units,
};
use crate::codec::digest::Digest;
use crate::model::metrics::{HotKey, LargeCollection, Load, PartitionContent, PartitionReport};

const ROW: f64 = 22.0;
const KEY_ROW: f64 = 21.0;
const BAR: f64 = 8.0;
const THIN: f64 = 3.0;
/// The names of reads and writes, with their units.
const KINDS: [(&str, &str); 2] = [("reads", "RCU/s"), ("writes", "WCU/s")];

// The columns of the partitions, from the left.
const NAME: f64 = MARGIN + 16.0;
const HASH: f64 = 110.0;
const SIZE: (f64, f64) = (200.0, 110.0);
const BYTES_END: f64 = 366.0;
const ITEMS_END: f64 = 424.0;
const KEY_SHARE_END: f64 = 476.0;
const KEY_NAME: (f64, f64) = (484.0, 104.0);
const LOAD_SHARE_END: f64 = 640.0;
/// The left edges of the bars of reads and of writes.
const LOADS: ReadWrite = [656.0, 850.0];
const LOAD_BAR: f64 = 90.0;
/// The right edges of the rate and of the share, from the bar's left edge.
const LOAD_ENDS: ReadWrite = [138.0, 184.0];
const THROTTLE_SIGN: f64 = 1043.0;

/// The left edge of the second list of keys.
const SECOND: f64 = 580.0;

/// Draws a lane; returns its bottom edge.
pub fn draw(
    canvas: &mut Canvas,
    picture: &HeatMap,
    lane: &HeatLane,
    rows_max: usize,
    top: f64,
) -> f64 {
    let drawing = LaneDrawing {
        lane,
        ceilings: LoadLimits::of(lane, &picture.limits, picture.span.period),
        picture,
    };
    drawing.head(canvas, top);
    let rows = drawing.partitions(canvas, top + 50.0, rows_max);
    drawing.keys(canvas, rows + 14.0)
}

struct LaneDrawing<'a> {
    picture: &'a HeatMap,
    lane: &'a HeatLane,
    ceilings: LoadLimits,
}

impl LaneDrawing<'_> {
    fn seconds(&self) -> f64 {
        self.picture.span.period.seconds()
    }

    /// Draws the title, the content, and the consumption of its units.
    fn head(&self, canvas: &mut Canvas, top: f64) {
        let (content, load) = sums(self.lane.partitions.iter());
        let (paid, warm) = if self.lane.is_provisioned {
            ("provisioned", "")
        } else {
            ("on demand", " warm")
        };
        let partitions = plural(self.lane.partitions.len() as u64, "partition");
        let lies = format!(
            "{partitions}, {}, {}",
            plural(content.items, "item"),
            human_bytes(content.billed_bytes)
        );
        canvas.text(MARGIN, top + 14.0, "lane", 366.0, &self.lane.title);
        canvas.text(
            MARGIN + 378.0,
            top + 14.0,
            "dim",
            310.0,
            &format!("{paid}, key: {}", self.lane.keys),
        );
        canvas.text(RIGHT, top + 14.0, "dim end", 330.0, &lies);
        let taken = rates(&load, self.seconds());
        let taken_shares = shares(taken, units(self.lane));
        let throttles = [load.read_throttles, load.write_throttles];
        for (kind, x) in [(0, MARGIN), (1, 570.0)] {
            let (word, unit) = KINDS[kind];
            canvas.text(x, top + 38.0, "", 48.0, word);
            let class = format!("h{}", step(taken_shares[kind]));
            canvas.bar(
                &class,
                x + 52.0,
                top + 28.0,
                120.0,
                11.0,
                taken_shares[kind],
            );
            let of = rate(units(self.lane)[kind]);
            let says = format!(
                "{} of {of} {unit}{warm}, {}",
                rate(taken[kind]),
                percent(taken_shares[kind])
            );
            canvas.text(x + 180.0, top + 38.0, "", 262.0, &says);
            self.throttled(canvas, x + 456.0, top + 38.0, throttles[kind]);
        }
    }

    fn partitions(&self, canvas: &mut Canvas, top: f64, rows_max: usize) -> f64 {
        let base = top + 10.0;
        let heads = [
            ("", NAME, "partition"),
            ("", HASH, "hashes"),
            ("", SIZE.0, "bytes (strong: largest key)"),
            (" end", ITEMS_END, "items"),
            ("", KEY_SHARE_END - 34.0, "its largest key"),
            (" end", LOAD_SHARE_END, "of load"),
            ("", LOADS[0], "reads, RCU/s, of its limit"),
            ("", LOADS[1], "writes, WCU/s, of its limit"),
        ];
        for (class, x, head) in heads {
            canvas.text(x, base, &format!("small dim{class}"), 190.0, head);
        }
        let shown = outstanding(&self.lane.partitions, rows_max);
        let bytes_max = self
            .lane
            .partitions
            .iter()
            .map(|(_, content)| content.billed_bytes)
            .max()
            .unwrap_or(0);
        let mut y = top + 16.0;
        self.brackets(canvas, y, &shown);
        let load = sums(self.lane.partitions.iter()).1.weight();
        for (report, content) in shown.iter().map(|at| &self.lane.partitions[*at]) {
            let row = PartitionRow {
                report,
                content,
                largest: largest_key(self.lane, report),
                bytes_max,
                load,
            };
            canvas.group(&self.tooltip(&row), |canvas| self.row(canvas, y, &row));
            y += ROW;
        }
        let others = self
            .lane
            .partitions
            .iter()
            .enumerate()
            .filter(|(at, _)| !shown.contains(at));
        let others: Vec<_> = others.map(|(_, other)| other).collect();
        if !others.is_empty() {
            self.others(canvas, y, &others);
            y += ROW;
        }
        y
    }

    fn row(&self, canvas: &mut Canvas, y: f64, row: &PartitionRow<'_>) {
        let base = y + 14.0;
        let (load, busiest) = (
            rates(&row.report.load, self.seconds()),
            rates(&row.report.peak.load, 1.0),
        );
        canvas.rect(
            &format!("h{}", step(self.ceilings.heat(load, busiest))),
            MARGIN,
            y + 3.0,
            10.0,
            ROW - 7.0,
        );
        canvas.text(
            NAME,
            base,
            "",
            HASH - NAME - 4.0,
            &format!("p{:02}", row.report.id),
        );
        canvas.text(
            HASH,
            base,
            "small dim",
            SIZE.0 - HASH - 6.0,
            &hashes(row.report),
        );
        let bytes = row.content.billed_bytes as f64;
        canvas.bar(
            "size",
            SIZE.0,
            y + 5.0,
            SIZE.1,
            10.0,
            bytes / row.bytes_max.max(1) as f64,
        );
        self.content(canvas, base, row.content);
        if let Some(key) = row.largest.filter(|_| bytes > 0.0) {
            // A collection may lie in several partitions.
            let share = (key.about.billed_bytes as f64 / bytes).min(1.0);
            canvas.rect(
                "key",
                SIZE.0,
                y + 5.0,
                (SIZE.1 * share * bytes / row.bytes_max as f64).max(1.0),
                10.0,
            );
            canvas.text(KEY_SHARE_END, base, "small dim end", 44.0, &percent(share));
            canvas.text(KEY_NAME.0, base, "mono", KEY_NAME.1, &key.name);
        }
        if row.load > 0.0 {
            let share = row.report.load.weight() / row.load;
            // The colours judge the load; a share of little load is no warning.
            canvas.text(LOAD_SHARE_END, base, "small dim end", 46.0, &percent(share));
        }
        for kind in [0, 1] {
            self.load(canvas, kind, y, only(kind, load), only(kind, busiest));
        }
        self.throttled(canvas, THROTTLE_SIGN, base, row.report.load.throttles());
    }

    /// Draws a bracket before the rows that are parts of one collection.
    fn brackets(&self, canvas: &mut Canvas, top: f64, shown: &[usize]) {
        let range = |at: &usize| &self.lane.partitions[*at].0.range;
        let are_parts = |one: &usize, next: &usize| {
            // A bound longer than a hash goes on with a place in its collection.
            range(one).to.as_ref() == Some(&range(next).from)
                && range(next).from.len() > size_of::<Digest>()
        };
        let mut y = top;
        for rows in shown.chunk_by(are_parts) {
            let height = ROW * rows.len() as f64;
            if rows.len() > 1 {
                let (left, from, to) = (MARGIN - 10.0, y + 3.0, y + height - 5.0);
                canvas.path(
                    "lead",
                    &format!("M{MARGIN} {from:.1}H{left}V{to:.1}H{MARGIN}"),
                );
            }
            y += height;
        }
    }

    fn content(&self, canvas: &mut Canvas, base: f64, content: &PartitionContent) {
        canvas.text(
            BYTES_END,
            base,
            "small end",
            BYTES_END - SIZE.0 - SIZE.1 - 6.0,
            &human_bytes(content.billed_bytes),
        );
        canvas.text(
            ITEMS_END,
            base,
            "small end",
            ITEMS_END - BYTES_END - 6.0,
            &count(content.items),
        );
    }

    /// Draws the reads or writes of a partition as two bars: above against its limit, below against
    /// the partition's own limit.
    fn load(&self, canvas: &mut Canvas, kind: usize, y: f64, load: ReadWrite, busiest: ReadWrite) {
        let (x, base) = (LOADS[kind], y + 14.0);
        self.bar(canvas, x, y + 3.0, LOAD_BAR, BAR, load, busiest);
        let of_hard = shares(load, self.ceilings.hard)[kind];
        canvas.bar(
            &format!("h{}", step(of_hard)),
            x,
            y + 3.0 + BAR + 1.0,
            LOAD_BAR,
            THIN,
            of_hard,
        );
        let of_limit = shares(load, self.ceilings.share)[kind];
        let class = if of_limit > 0.0 {
            "small end"
        } else {
            "small dim end"
        };
        canvas.text(
            x + LOAD_ENDS[0],
            base,
            class,
            LOAD_ENDS[0] - LOAD_BAR - 4.0,
            &rate(load[kind]),
        );
        if of_limit > 0.0 {
            canvas.text(
                x + LOAD_ENDS[1],
                base,
                class,
                LOAD_ENDS[1] - LOAD_ENDS[0] - 4.0,
                &percent(of_limit),
            );
        }
    }

    /// Draws a bar as long as the mean, in the heat of the nearest limit, with a tick at the
    /// busiest second.
    fn bar(
        &self,
        canvas: &mut Canvas,
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        load: ReadWrite,
        busiest: ReadWrite,
    ) {
        let of_limit = |load| {
            shares(load, self.ceilings.share)
                .into_iter()
                .fold(0.0, f64::max)
        };
        canvas.bar(
            &format!("h{}", step(self.ceilings.heat(load, busiest))),
            x,
            y,
            width,
            height,
            of_limit(load),
        );
        if of_limit(busiest) > 0.0 {
            canvas.rect(
                "tick",
                x + width * of_limit(busiest).min(1.0) - 1.0,
                y - 1.0,
                2.0,
                height + 2.0,
            );
        }
    }

    fn throttled(&self, canvas: &mut Canvas, x: f64, base: f64, throttles: u64) {
        if throttles > 0 {
            canvas.throttle_sign(x, base - 9.0);
            canvas.text(x + 8.0, base, "small loud", 50.0, &count(throttles));
        }
    }

    /// Draws one row for the partitions without a row of their own.
    fn others(&self, canvas: &mut Canvas, y: f64, others: &[&(PartitionReport, PartitionContent)]) {
        let (content, load) = sums(others.iter().copied());
        let base = y + 14.0;
        canvas.text(
            NAME,
            base,
            "dim",
            SIZE.0 + SIZE.1 - NAME,
            &format!("…{} in all", plural(others.len() as u64, "more partition")),
        );
        self.content(canvas, base, &content);
        let requested = rates(&load, self.seconds());
        for kind in [0, 1] {
            canvas.text(
                LOADS[kind] + LOAD_ENDS[0],
                base,
                "small dim end",
                LOAD_ENDS[0],
                &rate(requested[kind]),
            );
        }
        self.throttled(canvas, THROTTLE_SIGN, base, load.throttles());
    }

    /// Returns all numbers of a row, for its hover text.
    fn tooltip(&self, row: &PartitionRow<'_>) -> String {
        let ([read, write], [most_read, most_write]) = (
            rates(&row.report.load, self.seconds()),
            rates(&row.report.peak.load, 1.0),
        );
        format!(
            "p{:02}: {}, {}; {} RCU/s and {} WCU/s, in its busiest second {} and {}; {} of what a partition gives; {}; by {}",
            row.report.id,
            plural(row.content.items, "item"),
            human_bytes(row.content.billed_bytes),
            rate(read),
            rate(write),
            rate(most_read),
            rate(most_write),
            percent(row.report.share),
            plural(row.report.load.throttles(), "throttle event"),
            row.report.origin.name()
        )
    }

    /// Draws the hottest keys, and beside them the largest.
    fn keys(&self, canvas: &mut Canvas, top: f64) -> f64 {
        let window = self.picture.span.period.name();
        canvas.text(
            MARGIN,
            top + 12.0,
            "",
            214.0,
            &format!("most load, last {window}"),
        );
        canvas.text(SECOND, top + 12.0, "", 200.0, "largest by bytes");
        let of_hot = [
            (250.0, "", "of its limit"),
            (410.0, " end", "RCU/s"),
            (458.0, " end", "WCU/s"),
            (502.0, " end", "of load"),
        ];
        let of_big = [
            (836.0, "", "of all bytes"),
            (1030.0, " end", "bytes"),
            (RIGHT, " end", "items"),
        ];
        let heads = [
            (self.lane.hot.is_empty(), &of_hot[..]),
            (self.lane.big.is_empty(), &of_big),
        ];
        for (x, class, head) in heads
            .into_iter()
            .filter(|(is_empty, _)| !is_empty)
            .flat_map(|(_, heads)| heads)
        {
            canvas.text(*x, top + 12.0, &format!("small dim{class}"), 90.0, head);
        }
        for (rank, key) in (0..).zip(self.lane.hot.iter().take(KEYS_MAX)) {
            self.hot(canvas, top + 20.0 + KEY_ROW * f64::from(rank), key);
        }
        for (rank, key) in (0..).zip(self.lane.big.iter().take(KEYS_MAX)) {
            self.big(canvas, top + 20.0 + KEY_ROW * f64::from(rank), key);
        }
        let none = [
            (self.lane.hot.is_empty(), MARGIN, "no load"),
            (self.lane.big.is_empty(), SECOND, "no items"),
        ];
        for (_, x, says) in none.into_iter().filter(|(is_empty, ..)| *is_empty) {
            canvas.text(x, top + 34.0, "dim", 300.0, says);
        }
        let rows = self
            .lane
            .hot
            .len()
            .max(self.lane.big.len())
            .clamp(1, KEYS_MAX);
        top + 20.0 + KEY_ROW * rows as f64
    }

    fn hot(&self, canvas: &mut Canvas, y: f64, key: &NamedKey<HotKey>) {
        let base = y + 14.0;
        let (load, busiest) = (
            rates(&key.about.load, self.seconds()),
            rates(&key.about.peak.load, 1.0),
        );
        let of_limit = shares(load, self.ceilings.share)
            .into_iter()
            .fold(0.0, f64::max);
        let whole = sums(self.lane.partitions.iter()).1.weight();
        canvas.text(MARGIN, base, "mono", 174.0, &key.name);
        canvas.text(
            212.0,
            base,
            "small dim",
            34.0,
            &format!("p{:02}", key.about.partition),
        );
        self.bar(canvas, 250.0, y + 5.0, 70.0, 10.0, load, busiest);
        let of_load = if whole > 0.0 {
            (key.about.load.weight() / whole).min(1.0)
        } else {
            0.0
        };
        canvas.text(362.0, base, "small end", 38.0, &percent(of_limit));
        canvas.text(410.0, base, "small end", 44.0, &rate(load[0]));
        canvas.text(458.0, base, "small end", 44.0, &rate(load[1]));
        canvas.text(502.0, base, "small dim end", 40.0, &percent(of_load));
        self.throttled(canvas, 516.0, base, key.about.load.throttles());
    }

    fn big(&self, canvas: &mut Canvas, y: f64, key: &NamedKey<LargeCollection>) {
        let base = y + 14.0;
        let whole = sums(self.lane.partitions.iter()).0.billed_bytes.max(1);
        let share = (key.about.billed_bytes as f64 / whole as f64).min(1.0);
        canvas.text(SECOND, base, "mono", 210.0, &key.name);
        canvas.text(
            796.0,
            base,
            "small dim",
            34.0,
            &format!("p{:02}", key.about.partition),
        );
        canvas.bar("key", 836.0, y + 5.0, 90.0, 10.0, share);
        canvas.text(966.0, base, "small end", 36.0, &percent(share));
        canvas.text(
            1030.0,
            base,
            "small end",
            58.0,
            &human_bytes(key.about.billed_bytes),
        );
        canvas.text(RIGHT, base, "small end", 52.0, &count(key.about.items));
    }
}

/// A partition as a row.
struct PartitionRow<'a> {
    report: &'a PartitionReport,
    content: &'a PartitionContent,
    largest: Option<&'a NamedKey<LargeCollection>>,
    /// The bytes of the lane's largest partition.
    bytes_max: u64,
    /// The load of all partitions, by weight.
    load: f64,
}

/// Returns the content of the partitions and the load on them, in total.
fn sums<'a>(
    partitions: impl Iterator<Item = &'a (PartitionReport, PartitionContent)>,
) -> (PartitionContent, Load) {
    partitions.fold(
        Default::default(),
        |(mut content, mut load): (PartitionContent, Load), (report, other)| {
            content.items += other.items;
            content.billed_bytes += other.billed_bytes;
            load.add(&report.load);
            (content, load)
        },
    )
}

/// Returns the largest key that begins in a partition, or that the partition is a part of.
fn largest_key<'a>(
    lane: &'a HeatLane,
    report: &PartitionReport,
) -> Option<&'a NamedKey<LargeCollection>> {
    let is_part = |key: &NamedKey<LargeCollection>| {
        report.range.from.len() > key.digest.len() && report.range.from.starts_with(&key.digest)
    };
    lane.big
        .iter()
        .find(|key| key.about.partition == report.id || is_part(key))
}

/// Returns the indexes of the partitions that have a row: all, or half of the rows for the hottest
/// and the others for the largest.
fn outstanding(partitions: &[(PartitionReport, PartitionContent)], rows_max: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..partitions.len()).collect();
    if places.len() <= rows_max {
        return places;
    }
    let rows = rows_max - 1;
    let load = |at: &usize| (partitions[*at].0.load.throttles(), partitions[*at].0.share);
    places.sort_by(|one, other| {
        load(other)
            .partial_cmp(&load(one))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let is_asked = |at: &&usize| load(at) > (0, 0.0);
    let hot = places.iter().filter(is_asked).take(rows / 2).count();
    places[hot..].sort_by_key(|at| (std::cmp::Reverse(partitions[*at].1.billed_bytes), *at));
    places.truncate(rows);
    places.sort_unstable();
    places
}

/// Returns `4000–8000`, the beginnings of the partition's hashes; for a part of one collection only
/// that of its key.
fn hashes(report: &PartitionReport) -> String {
    let hex = |place: &[u8]| {
        place
            .iter()
            .chain([0; 2].iter())
            .take(2)
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let to = report
        .range
        .to
        .as_deref()
        .map_or_else(|| "ffff".to_owned(), hex);
    match (
        report.range.from.get(..16),
        report.range.to.as_deref().and_then(|to| to.get(..16)),
    ) {
        (Some(from), Some(to)) if from == to => format!("part of {}", hex(from)),
        _ => format!("{}–{to}", hex(&report.range.from)),
    }
}
