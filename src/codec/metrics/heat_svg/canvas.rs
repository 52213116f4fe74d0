//! The drawing tools of the heat picture, a writer of SVG elements: shapes, texts that keep to
//! their space, the colours of light and dark, and the forms of numbers.

use std::borrow::Cow;
use std::fmt::Write as _;

use indicatif::HumanCount;

use crate::codec::count::noun;

pub const WIDTH: f64 = 1120.0;
pub const MARGIN: f64 = 32.0;
pub const RIGHT: f64 = WIDTH - MARGIN;

/// The colours of both schemes. A viewer that does not know the reader's scheme shows the light
/// one, so it has a paper of its own.
const COLOURS: &str = "\
svg{background:#fbfbf9}text{fill:#1d2733}.paper{fill:#fbfbf9}.dim{fill:#586574}.loud{fill:#b3123b;font-weight:bold}.end{text-anchor:end}
.rule{stroke:#c9d0d7;fill:none}.lead{stroke:#6b7885;fill:none}.stop{fill:#b3123b}
.tick{fill:#1d2733}.track{fill:#e6eaee}.size{fill:#a9c6e8}.key{fill:#2566ad}
.h0{fill:#dde3e9}.h1{fill:#f6df9f}.h2{fill:#f4c152}.h3{fill:#f0962f}.h4{fill:#e8612c}.h5{fill:#cf2f33}.h6{fill:#7d0f3b}
@media (prefers-color-scheme:dark){svg{background:#12171d}text{fill:#e6ebf0}.paper{fill:#12171d}.dim{fill:#9aa8b6}.loud{fill:#ff86a8}
.rule{stroke:#36414c}.lead{stroke:#8694a2}.stop{fill:#ff86a8}
.tick{fill:#e6ebf0}.track{fill:#232c35}.size{fill:#33567f}.key{fill:#79b4ff}
.h0{fill:#2a343e}.h1{fill:#574c2c}.h2{fill:#80611f}.h3{fill:#b8741f}.h4{fill:#e0662c}.h5{fill:#f5483f}.h6{fill:#ff9dbb}}";

const FONT: &str = "system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif";
const MONO: &str = ";font-family:ui-monospace,'DejaVu Sans Mono',monospace";

/// A picture being drawn.
#[derive(Debug, Default)]
pub struct Canvas(String);

impl Canvas {
    /// Draws a text at its base line in at most `room` pixels. A longer text is cut, and shown
    /// whole on hover.
    pub fn text(&mut self, x: f64, y: f64, classes: &str, room: f64, content: &str) {
        let fitted = fit(content, classes, room);
        let title = if fitted.contains('…') {
            format!("<title>{}</title>", escaped(content))
        } else {
            String::new()
        };
        self.put(format_args!(
            "<text class=\"{classes}\" x=\"{x:.1}\" y=\"{y:.1}\">{title}{}</text>",
            escaped(&fitted)
        ));
    }

    pub fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        self.put(format_args!("<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"));
    }

    /// Draws a part of a track; a share above one fills it.
    pub fn bar(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64, share: f64) {
        self.rect("track", x, y, width, height);
        if share > 0.0 {
            self.rect(class, x, y, (width * share).clamp(1.0, width), height);
        }
    }

    pub fn path(&mut self, class: &str, shape: &str) {
        self.put(format_args!("<path class=\"{class}\" d=\"{shape}\"/>"));
    }

    /// Draws the sign of throttled requests, 10 pixels wide and 9 high.
    pub fn throttle_sign(&mut self, middle: f64, top: f64) {
        self.path("stop", &format!("M{middle:.1} {top:.1}l5 9h-10z"));
    }

    /// Draws a group with the text `tip` on hover.
    pub fn group(&mut self, tip: &str, draw: impl FnOnce(&mut Self)) {
        self.put(format_args!("<g><title>{}</title>", escaped(tip)));
        draw(self);
        self.put(format_args!("</g>"));
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{element}");
    }

    /// Returns the whole document.
    #[must_use]
    pub fn finish(self, title: &str, height: f64) -> String {
        let size = format!("width=\"{WIDTH}\" height=\"{height:.0}\"");
        let mut style = format!("text{{font-size:13px;font-family:{FONT}}}");
        for face in &FACES {
            let bold = if face.is_bold {
                ";font-weight:bold"
            } else {
                ""
            };
            let mono = if face.is_mono { MONO } else { "" };
            let _ = write!(
                style,
                ".{}{{font-size:{}px{bold}{mono}}}",
                face.class, face.size
            );
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" {size} role=\"img\">\n\
             <title>{}</title>\n<style>{style}\n{COLOURS}</style>\n<rect class=\"paper\" {size}/>\n{}</svg>\n",
            escaped(title),
            self.0
        )
    }
}

/// A class of text: its size in pixels, and whether it is bold and monospaced.
pub struct Face {
    pub class: &'static str,
    pub size: f64,
    pub is_bold: bool,
    pub is_mono: bool,
}

/// The faces by class; text without one of these classes is 13 pixels high.
pub const FACES: [Face; 4] = [
    Face::new("big", 22.0, true, false),
    Face::new("lane", 15.0, true, false),
    Face::new("small", 11.0, false, false),
    Face::new("mono", 12.0, false, true),
];

const BODY: Face = Face::new("", 13.0, false, false);

impl Face {
    const fn new(class: &'static str, size: f64, is_bold: bool, is_mono: bool) -> Self {
        Self {
            class,
            size,
            is_bold,
            is_mono,
        }
    }
}

/// Returns the face of a text with these classes.
#[must_use]
pub fn face(classes: &str) -> &'static Face {
    FACES
        .iter()
        .find(|face| classes.split(' ').any(|class| class == face.class))
        .unwrap_or(&BODY)
}

/// Returns the largest width of a text in pixels, by the widths of `DejaVu` Sans, which is wider
/// than the fonts of most screens.
#[must_use]
pub fn width(text: &str, classes: &str) -> f64 {
    let face = face(classes);
    let bold = if face.is_bold || classes.contains("loud") {
        1.13
    } else {
        1.0
    };
    text.chars()
        .map(|character| ems(character, face.is_mono))
        .sum::<f64>()
        * face.size
        * bold
}

/// Returns the width of a character as a multiple of its font's height.
fn ems(character: char, is_mono: bool) -> f64 {
    match character {
        ' '..='~' | '…' if is_mono => 0.61,
        ' ' | '\'' | ',' | '.' | '/' | ':' | ';' | 'I' | 'J' | 'i' | 'j' | 'l' | '|' => 0.34,
        '!' | '(' | ')' | '-' | '[' | ']' | 'f' | 'r' | 't' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 1.0,
        'A'..='Z' | '#' | '&' | '+' | '<' | '=' | '>' | '~' => 0.84,
        ' '..='~' => 0.64,
        // Chinese and its like have whole squares, pictures more; the characters below are not
        // wider than a capital.
        '\0'..'\u{1100}' | '\u{2000}'..'\u{2100}' => 1.0,
        '\u{1100}'..'\u{1_F000}' => 1.1,
        _ => 1.4,
    }
}

/// Returns a text that fits: without characters that break XML or turn the direction of the line,
/// and with `…` for its middle if it is too long.
#[must_use]
pub fn fit<'a>(text: &'a str, classes: &str, room: f64) -> Cow<'a, str> {
    let text = clean(text);
    if width(&text, classes) <= room {
        return text;
    }
    // The beginning says which kind of thing it is, the end which one.
    let room = room - width("…", classes);
    let head = bytes_within(text.chars(), classes, room * 0.6);
    let room = room - width(&text[..head], classes);
    let tail = bytes_within(text[head..].chars().rev(), classes, room);
    Cow::Owned(format!("{}…{}", &text[..head], &text[text.len() - tail..]))
}

/// Returns the number of bytes of the first characters that fit.
fn bytes_within(characters: impl Iterator<Item = char>, classes: &str, room: f64) -> usize {
    let mut used = 0.0;
    let fits = |character: &char| {
        used += width(character.encode_utf8(&mut [0; 4]), classes);
        used <= room
    };
    characters.take_while(fits).map(char::len_utf8).sum()
}

fn clean(text: &str) -> Cow<'_, str> {
    // XML allows no control characters and no noncharacters; direction marks reorder their
    // neighbours.
    let is_bad = |c: char| {
        c.is_control()
            || matches!(c, '\u{FFFE}' | '\u{FFFF}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(is_bad) {
        Cow::Owned(text.replace(is_bad, "\u{FFFD}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Escapes text for XML content and attributes.
#[must_use]
pub fn escaped(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Returns `1 item`, `2 items`.
#[must_use]
pub fn plural(count: u64, what: &str) -> String {
    format!("{} {}", thousands(count), noun(count, what))
}

/// Returns a share of one as a percentage.
#[must_use]
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        none if none <= 0.0 => "0 %".to_owned(),
        small if small < 1.0 => "<1 %".to_owned(),
        large if large >= 999.5 => ">999 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// Returns units a second with about three digits.
#[must_use]
pub fn rate(number: f64) -> String {
    match number {
        n if n >= 99_999.5 => scaled(n, 1000.0, &["", "k", "M", "G"]),
        n if n > 0.0 && n < 0.05 => "<0.1".to_owned(),
        n if n < 9.95 => format!("{n:.1}").trim_end_matches(".0").to_owned(),
        n => thousands(whole(n)),
    }
}

/// Rounds to a whole number; values beyond `u64` are never drawn.
fn whole(number: f64) -> u64 {
    format!("{:.0}", number.max(0.0))
        .parse()
        .unwrap_or(u64::MAX)
}

/// Returns a count in at most six characters.
#[must_use]
pub fn count(count: u64) -> String {
    match count {
        0..100_000 => thousands(count),
        _ => scaled(count as f64, 1000.0, &["", "k", "M", "G", "T", "P", "E"]),
    }
}

/// Returns `1.5 KB`; a KB has 1,024 bytes.
#[must_use]
pub fn human_bytes(bytes: u64) -> String {
    scaled(
        bytes as f64,
        1024.0,
        &[" B", " KB", " MB", " GB", " TB", " PB", " EB"],
    )
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= step - 0.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 9.95);
    format!("{value:.digits$}{}", units[unit])
}

/// Returns `1,234,567`.
#[must_use]
pub fn thousands(count: u64) -> String {
    HumanCount(count).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let bytes = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KB"),
            (10 * 1024 * 1024, "10 MB"),
            (1024 * 1024 - 1, "1.0 MB"),
            (u64::MAX, "16 EB"),
        ];
        bytes
            .iter()
            .for_each(|(count, expected)| assert_eq!(human_bytes(*count), *expected));
        let counts = [
            (0, "0"),
            (99_999, "99,999"),
            (100_000, "100k"),
            (999_999, "1.0M"),
            (12_345_678, "12M"),
        ];
        counts
            .iter()
            .for_each(|(number, expected)| assert_eq!(count(*number), *expected));
        let rates = [
            (0.0, "0"),
            (0.01, "<0.1"),
            (1.0, "1"),
            (3.25, "3.2"),
            (76.0, "76"),
            (2_950.4, "2,950"),
            (12_345.0, "12,345"),
            (99_999.7, "100k"),
        ];
        rates
            .iter()
            .for_each(|(number, expected)| assert_eq!(rate(*number), *expected));
        let shares = [
            (0.0, "0 %"),
            (0.001, "<1 %"),
            (0.59, "59 %"),
            (1.8, "180 %"),
            (20.0, ">999 %"),
        ];
        shares
            .iter()
            .for_each(|(share, expected)| assert_eq!(percent(*share), *expected));
        assert_eq!(
            (thousands(999), thousands(1_234_567)),
            ("999".to_owned(), "1,234,567".to_owned())
        );
        assert_eq!(
            (plural(1, "partition"), plural(0, "item")),
            ("1 partition".to_owned(), "0 items".to_owned())
        );
    }

    #[test]
    fn names_cannot_break_the_picture() {
        assert_eq!(
            escaped("a<b>&\"\u{7}\u{202E}\u{FFFF}"),
            "a&lt;b&gt;&amp;&quot;\u{FFFD}\u{FFFD}\u{FFFD}"
        );
        assert_eq!(fit("short", "mono", 100.0), "short");
        for text in [
            "USER#0123456789/ORDER#2024-01-01/LINE#17".to_owned(),
            "ä".repeat(90),
            "鍵".repeat(40),
            "🔑x".repeat(30),
        ] {
            let fitted = fit(&text, "mono", 150.0);
            assert!(
                width(&fitted, "mono") <= 150.0 && width(&fitted, "mono") > 110.0,
                "{fitted}"
            );
            let (head, tail) = fitted.split_once('…').unwrap();
            assert!(
                text.starts_with(head) && text.ends_with(tail) && head.len() >= tail.len(),
                "{fitted}"
            );
        }
        assert_eq!(fit("anything", "", 5.0), "…");
    }

    #[test]
    fn widths_are_not_less_than_those_of_the_widest_common_font() {
        // The widths that a browser measures in DejaVu Sans, its bold form and DejaVu Sans Mono;
        // the estimate must not waste much space.
        let measured = [
            ("The same as tables: partitions/*.tsv", "", 231.5),
            ("0 of 12,000 RCU/s warm, 100 %", "", 206.9),
            ("MAXIMUM WORK", "", 109.6),
            ("ключ-пользователя", "", 134.1),
            ("Thread-of-Messages", "big", 251.3),
            ("gsi/by-customer-Index_2", "lane", 207.3),
            ("mean load of its limit, an even share", "small dim", 201.8),
            ("1,234,567", "small end", 56.0),
            ("USER#alice@example.com", "mono", 159.0),
        ];
        for (text, classes, measured) in measured {
            let width = width(text, classes);
            assert!(
                (measured..measured * 1.6).contains(&width),
                "{text} {classes}: {width}"
            );
        }
    }
}
