//! The heat of a table as a picture. The base and each global index have a lane: its consumption of
//! its units, its partitions as rows in the order of the hash space with their heat, bytes and load,
//! and its hottest and largest keys.
//!
//! The picture is plain SVG with its own style: no script, no font, no link; light or dark as the
//! reader's screen is. Every text has a space of its own, so that no key's name covers anything
//! else.

mod canvas;
pub mod data;
mod lane;
#[cfg(test)]
#[path = "../heat_svg_tests.rs"]
mod tests;

use canvas::{Canvas, MARGIN, RIGHT, count, plural, rate};
use data::{HeatMap, STEPS, rates};

use crate::codec::calendar::iso;
use crate::model::metrics::{Load, PartitionLimits, Period};

const HEAD: f64 = 160.0;
const LANE_GAP: f64 = 30.0;
/// The left edge of the legend.
const LEGEND: f64 = 580.0;
/// The width of a colour in the legend.
const SWATCH: f64 = 72.5;
/// The rows of partitions in the whole picture, about.
const ROWS_MAX: usize = 96;
/// The rows of partitions in a lane.
const LANE_ROWS: std::ops::RangeInclusive<usize> = 4..=16;

/// Renders the picture of a table.
#[must_use]
pub fn render(picture: &HeatMap) -> String {
    let mut canvas = Canvas::default();
    head(&mut canvas, picture);
    legend(&mut canvas, picture);
    let rows_max =
        (ROWS_MAX / picture.lanes.len().max(1)).clamp(*LANE_ROWS.start(), *LANE_ROWS.end());
    let mut bottom = HEAD;
    for lane in &picture.lanes {
        canvas.path("rule", &format!("M{MARGIN} {bottom:.1}H{RIGHT}"));
        bottom = lane::draw(
            &mut canvas,
            picture,
            lane,
            rows_max,
            bottom + LANE_GAP / 2.0,
        ) + LANE_GAP / 2.0;
    }
    let foot = "Hash ranges, heat and splits model DynamoDB's partitions; items, bytes and units are counted. The same as tables: partitions/*.tsv";
    canvas.text(MARGIN, bottom + 10.0, "small dim", RIGHT - MARGIN, foot);
    canvas.finish(&format!("Heat of {}", picture.table), bottom + 26.0)
}

fn head(canvas: &mut Canvas, picture: &HeatMap) {
    canvas.text(MARGIN, 42.0, "big", 500.0, &picture.table);
    let mut load = Load::default();
    picture
        .lanes
        .iter()
        .flat_map(|lane| &lane.partitions)
        .for_each(|(report, _)| load.add(&report.load));
    let (window, [read, write]) = (
        picture.span.period.name(),
        rates(&load, picture.span.period.seconds()),
    );
    let says = match load.is_zero() {
        true => format!("no load in the last {window}; only what is stored is shown"),
        false => format!(
            "last {window}, on average: {} RCU/s, {} WCU/s",
            rate(read),
            rate(write)
        ),
    };
    canvas.text(MARGIN, 64.0, "dim", 500.0, &says);
    let span = format!(
        "{} to {}",
        iso(picture.span.from_ms),
        iso(picture.span.to_ms)
    );
    canvas.text(MARGIN, 82.0, "small dim", 400.0, &span);
    if load.throttles() > 0 {
        canvas.throttle_sign(MARGIN + 5.0, 90.0);
        canvas.text(
            MARGIN + 16.0,
            100.0,
            "loud",
            500.0,
            &format!(
                "{} of {} throttled ({})",
                count(picture.requests.throttled),
                plural(picture.requests.requests, "request"),
                plural(load.throttles(), "throttle event")
            ),
        );
    }
}

/// Draws the legend of colours, bars and marks.
fn legend(canvas: &mut Canvas, picture: &HeatMap) {
    let colour = match picture.span.period {
        Period::Minute => "colour: load as a part of the nearest limit; the busiest second counts",
        Period::Hour | Period::Day => "colour: mean load as a part of the nearest limit",
    };
    canvas.text(LEGEND, 32.0, "small dim", RIGHT - LEGEND, colour);
    let mut x = LEGEND;
    for (place, from) in STEPS.iter().enumerate() {
        let label = match (place, STEPS.get(place + 1)) {
            (0, _) => "none".to_owned(),
            (_, Some(to)) => format!("{from:.0}–{to:.0} %"),
            (_, None) => format!("≥ {from:.0} %"),
        };
        canvas.rect(&format!("h{place}"), x, 40.0, SWATCH - 3.0, 12.0);
        canvas.text(x, 66.0, "small dim", SWATCH - 3.0, &label);
        x += SWATCH;
    }
    let (first, second) = (124.0, 144.0);
    let says = |canvas: &mut Canvas, (x, base): (f64, f64), says: &str| {
        canvas.text(x + 56.0, base, "small dim", 470.0, says)
    };
    canvas.bar("h4", MARGIN, first - 8.0, 46.0, 8.0, 0.6);
    canvas.rect("tick", MARGIN + 38.0, first - 9.0, 2.0, 10.0);
    says(
        canvas,
        (MARGIN, first),
        "mean load; full at its even share of the units; line: busiest second",
    );
    canvas.bar("h2", MARGIN, second - 5.0, 46.0, 3.0, 0.25);
    let hard = format!(
        "mean load; full at what one partition gives: {}",
        limits_text(&picture.limits)
    );
    says(canvas, (MARGIN, second), &hard);
    canvas.bar("size", LEGEND, first - 9.0, 46.0, 10.0, 0.9);
    canvas.rect("key", LEGEND, first - 9.0, 24.0, 10.0);
    says(
        canvas,
        (LEGEND, first),
        "bytes; full for the largest partition; strong: its largest key",
    );
    canvas.path(
        "lead",
        &format!("M{:.1} {:.1}h-8v12h8", LEGEND + 8.0, second - 10.0),
    );
    says(canvas, (LEGEND, second), "parts of one key");
    canvas.throttle_sign(LEGEND + 440.0, second - 9.0);
    canvas.text(LEGEND + 450.0, second, "small dim", 60.0, "throttled");
}

/// Returns `3,000 RCU/s, 1,000 WCU/s`.
fn limits_text(limits: &PartitionLimits) -> String {
    format!(
        "{} RCU/s, {} WCU/s",
        rate(limits.read_units_max),
        rate(limits.write_units_max)
    )
}
