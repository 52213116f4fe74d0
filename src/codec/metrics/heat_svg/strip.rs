//! The strip of a lane of the heat picture: the hash space of a table or index, coloured by heat,
//! with throttled partitions below.

use super::canvas::{Canvas, MARGIN, RIGHT};
use super::data::{HeatLane, LoadLimits, hash_share, rates, step};

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
/// The height of the strip with the signs below it.
pub const WHOLE_HEIGHT: f64 = 28.0;

/// Draws the strip.
pub fn draw(canvas: &mut Canvas, lane: &HeatLane, ceilings: &LoadLimits, seconds: f64, strip: f64) {
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
