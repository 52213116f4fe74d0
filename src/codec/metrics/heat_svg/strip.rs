//! The strip of a lane of the heat picture: the hash space of a table or index, coloured by heat,
//! with the positions of its keys above and throttled partitions below.

use super::canvas::{Canvas, KeyMark, MARGIN, MARK, RIGHT};
use super::data::{HeatLane, KEYS_MAX, LoadLimits, hash_share, rates, step};

const LEFT: f64 = MARGIN + 84.0;
const WIDTH: f64 = RIGHT - LEFT;
/// The parts of the strip with a colour of their own, 4 pixels wide. A partition of few hashes
/// colours the whole of its part.
const PARTS: usize = 243;
const HEIGHT: f64 = 14.0;
/// The least distance between the signs of throttled partitions.
const SIGN_GAP: f64 = 14.0;
/// The most partitions with drawn boundaries.
const CUTS_MAX: usize = 80;
/// The height of the strip with its marks.
pub const WHOLE_HEIGHT: f64 = 52.0;

/// Draws the strip.
pub fn draw(canvas: &mut Canvas, lane: &HeatLane, ceilings: &LoadLimits, seconds: f64, top: f64) {
    let strip = top + 2.0 * MARK + 8.0;
    canvas.text(
        MARGIN,
        strip + 11.0,
        "small dim",
        LEFT - MARGIN - 6.0,
        "hash 00–ff",
    );
    colours(canvas, lane, ceilings, seconds, strip);
    if lane.partitions.len() <= CUTS_MAX {
        for (report, _) in lane.partitions.iter().skip(1) {
            canvas.rect(
                "cut",
                x_of(hash_share(&report.range.from)) - 0.5,
                strip,
                1.0,
                HEIGHT,
            );
        }
    }
    marks(canvas, lane, top + MARK, strip);
    throttle_signs(canvas, lane, strip + HEIGHT + 3.0);
}

fn x_of(share: f64) -> f64 {
    LEFT + WIDTH * share
}

/// Draws each part in the colour of its hottest partition.
fn colours(canvas: &mut Canvas, lane: &HeatLane, ceilings: &LoadLimits, seconds: f64, y: f64) {
    let mut parts = [0; PARTS];
    for (report, _) in &lane.partitions {
        let heat = step(ceilings.heat(rates(&report.load, seconds), rates(&report.peak.load, 1.0)));
        let from = hash_share(&report.range.from);
        let to = report.range.to.as_deref().map_or(1.0, hash_share).max(from);
        for (place, part) in parts.iter_mut().enumerate() {
            let (begin, end) = (
                place as f64 / PARTS as f64,
                (place + 1) as f64 / PARTS as f64,
            );
            if from < end && (to > begin || from >= begin) {
                *part = heat.max(*part);
            }
        }
    }
    let mut place = 0;
    for run in parts.chunk_by(|one, other| one == other) {
        let (from, width) = (place as f64 / PARTS as f64, run.len() as f64 / PARTS as f64);
        canvas.rect(
            &format!("h{}", run[0]),
            x_of(from),
            y,
            WIDTH * width,
            HEIGHT,
        );
        place += run.len();
    }
}

/// Draws the keys of the lists below, each as near to the place of its hash as the others allow.
fn marks(canvas: &mut Canvas, lane: &HeatLane, y: f64, strip: f64) {
    let hot = (0..)
        .map(KeyMark::Hot)
        .zip(lane.hot.iter().map(|key| key.digest));
    let big = (0..)
        .map(KeyMark::Big)
        .zip(lane.big.iter().map(|key| key.digest));
    let limited = hot.take(KEYS_MAX).chain(big.take(KEYS_MAX));
    let mut marks: Vec<(f64, KeyMark)> = limited
        .map(|(mark, digest)| (x_of(hash_share(&digest)), mark))
        .collect();
    marks.sort_by(|one, other| one.0.total_cmp(&other.0));
    let wanted: Vec<f64> = marks.iter().map(|(x, _)| *x).collect();
    for ((at, mark), x) in
        marks
            .into_iter()
            .zip(spread(&wanted, LEFT + MARK, RIGHT - MARK, 2.0 * MARK + 2.0))
    {
        canvas.path(
            "lead",
            &format!("M{x:.1} {:.1}L{at:.1} {strip:.1}", y + MARK),
        );
        canvas.mark(x, y, mark);
    }
}

/// Moves sorted positions until neighbours are at least `gap` apart.
fn spread(wanted: &[f64], least: f64, most: f64, gap: f64) -> Vec<f64> {
    let mut next = least;
    let mut places: Vec<f64> = Vec::with_capacity(wanted.len());
    for x in wanted {
        places.push(x.max(next));
        next = x.max(next) + gap;
    }
    let mut most = most;
    for x in places.iter_mut().rev() {
        *x = x.min(most);
        most = *x - gap;
    }
    places
}

/// Draws a sign below each partition that throttled; neighbours share one.
fn throttle_signs(canvas: &mut Canvas, lane: &HeatLane, y: f64) {
    let mut last = f64::NEG_INFINITY;
    for (report, _) in lane
        .partitions
        .iter()
        .filter(|(report, _)| report.load.throttles() > 0)
    {
        let to = report.range.to.as_deref().map_or(1.0, hash_share);
        let middle =
            x_of(f64::midpoint(hash_share(&report.range.from), to)).clamp(LEFT + 5.0, RIGHT - 5.0);
        if middle - last >= SIGN_GAP {
            canvas.throttle_sign(middle, y);
            last = middle;
        }
    }
}
