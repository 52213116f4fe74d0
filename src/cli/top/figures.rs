//! Formats of figures for people.

use indicatif::BinaryBytes;

/// The text of a missing figure.
const NONE: &str = "-";

/// Formats units per second or milliseconds, with at least three digits.
pub fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// Formats a figure that may be unknown.
pub fn rate_or_none(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), rate)
}

/// Formats a configured figure, a whole number.
pub fn configured(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| value.to_string())
}

/// Formats bytes as `1.50 KiB`.
pub fn bytes(count: u64) -> String {
    BinaryBytes(count).to_string()
}

/// Eighths of a cell.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Draws a bar that fills `fraction` of `width` cells, in eighths: at most all of them, and at
/// least an eighth if `fraction` is above 0.
pub fn bar(fraction: f64, width: u16) -> String {
    let whole = f64::from(width) * 8.0;
    let least = if fraction > 0.0 { 1.0 } else { 0.0 };
    let wanted = (fraction * whole).max(least);
    // Counted up, as there is no exact conversion of a fraction.
    let eighths = (0..usize::from(width) * 8)
        .zip(1_u32..)
        .take_while(|(_, upper)| f64::from(*upper) <= wanted.round())
        .count();
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_bars_are_of_eighths() {
        let rates = [
            (0.0, "0"),
            (0.066, "0.07"),
            (9.5, "9.50"),
            (42.25, "42.2"),
            (999.6, "1000"),
            (12_345.0, "12345"),
        ];
        rates
            .iter()
            .for_each(|(value, expected)| assert_eq!(rate(*value), *expected));
        let bars = [
            (0.0, ""),
            (0.001, "▏"),
            (0.5, "██"),
            (0.53, "██▏"),
            (1.0, "████"),
            (7.0, "████"),
        ];
        bars.iter().for_each(|(fraction, expected)| {
            assert_eq!(bar(*fraction, 4), *expected, "{fraction}")
        });
    }
}
