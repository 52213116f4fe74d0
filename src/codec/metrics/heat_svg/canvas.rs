//! What the picture is drawn with: shapes, texts that keep to their room, and the colours of light and dark.

use std::fmt::Write as _;

use super::text::{self, FACES};

pub const WIDTH: f64 = 1120.0;
pub const MARGIN: f64 = 32.0;
pub const RIGHT: f64 = WIDTH - MARGIN;
/// Radius of the marks of keys.
pub const MARK: f64 = 8.0;

/// Light is what viewers show that know nothing of the reader's scheme, so it has a paper of its own.
const COLOURS: &str = "\
svg{background:#fbfbf9}text{fill:#1d2733}.paper{fill:#fbfbf9}.dim{fill:#586574}.loud{fill:#b3123b;font-weight:bold}.mid{text-anchor:middle}.end{text-anchor:end}
.rule{stroke:#c9d0d7;fill:none}.lead{stroke:#6b7885;fill:none}.cut{fill:#fbfbf9}.stop{fill:#b3123b}
.tick{fill:#1d2733}.track{fill:#e6eaee}.size{fill:#a9c6e8}.key{fill:#2566ad}.hotmark{fill:#1d2733}.rank{fill:#fff}
.h0{fill:#dde3e9}.h1{fill:#f6df9f}.h2{fill:#f4c152}.h3{fill:#f0962f}.h4{fill:#e8612c}.h5{fill:#cf2f33}.h6{fill:#7d0f3b}
@media (prefers-color-scheme:dark){svg{background:#12171d}text{fill:#e6ebf0}.paper{fill:#12171d}.dim{fill:#9aa8b6}.loud{fill:#ff86a8}
.rule{stroke:#36414c}.lead{stroke:#8694a2}.cut{fill:#12171d}.stop{fill:#ff86a8}
.tick{fill:#e6ebf0}.track{fill:#232c35}.size{fill:#33567f}.key{fill:#79b4ff}.hotmark{fill:#e6ebf0}.rank{fill:#12171d}
.h0{fill:#2a343e}.h1{fill:#574c2c}.h2{fill:#80611f}.h3{fill:#b8741f}.h4{fill:#e0662c}.h5{fill:#f5483f}.h6{fill:#ff9dbb}}";

const FONT: &str = "system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif";
const MONO: &str = ";font-family:ui-monospace,'DejaVu Sans Mono',monospace";

/// A picture being drawn.
#[derive(Debug, Default)]
pub struct Canvas(String);

impl Canvas {
    /// A text at its base line, in so many pixels; what does not fit is cut, and whole when pointed at.
    pub fn text(&mut self, (x, y): (f64, f64), classes: &str, room: f64, content: &str) {
        let fitted = text::fitted(content, classes, room);
        let title = if fitted.contains('…') { format!("<title>{}</title>", text::escaped(content)) } else { String::new() };
        self.put(format_args!("<text class=\"{classes}\" x=\"{x:.1}\" y=\"{y:.1}\">{title}{}</text>", text::escaped(&fitted)));
    }

    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.put(format_args!("<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"));
    }

    /// A part of a track; what is more than all of it is as long as all.
    pub fn bar(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), share: f64) {
        self.rect("track", (x, y), (width, height));
        if share > 0.0 {
            self.rect(class, (x, y), ((width * share).clamp(1.0, width), height));
        }
    }

    pub fn path(&mut self, class: &str, shape: &str) {
        self.put(format_args!("<path class=\"{class}\" d=\"{shape}\"/>"));
    }

    /// The sign of throttled requests, 10 pixels wide and 9 high.
    pub fn stop(&mut self, (middle, top): (f64, f64)) {
        self.path("stop", &format!("M{middle:.1} {top:.1}l5 9h-10z"));
    }

    /// The mark of a key: round for what is asked for most, square for what is largest.
    pub fn mark(&mut self, (x, y): (f64, f64), key: Mark) {
        let (class, label) = match key {
            Mark::Hot(rank) => ("hotmark", char::from_digit(rank + 1, 10)),
            Mark::Big(rank) => ("key", char::from_u32(u32::from('A') + rank)),
        };
        match key {
            Mark::Hot(_) => self.put(format_args!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{MARK}\"/>")),
            Mark::Big(_) => self.rect(class, (x - MARK, y - MARK), (2.0 * MARK, 2.0 * MARK)),
        }
        let label = label.map(String::from).unwrap_or_default();
        self.text((x, y + 3.6), "rank mid", 2.0 * MARK, &label);
    }

    /// A group that says this when it is pointed at.
    pub fn group(&mut self, tip: &str, draw: impl FnOnce(&mut Self)) {
        self.put(format_args!("<g><title>{}</title>", text::escaped(tip)));
        draw(self);
        self.put(format_args!("</g>"));
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{element}");
    }

    /// The whole document.
    #[must_use]
    pub fn finish(self, title: &str, height: f64) -> String {
        let size = format!("width=\"{WIDTH}\" height=\"{height:.0}\"");
        let mut style = format!("text{{font-size:13px;font-family:{FONT}}}");
        for face in &FACES {
            let (bold, mono) = (if face.is_bold { ";font-weight:bold" } else { "" }, if face.is_mono { MONO } else { "" });
            let _ = write!(style, ".{}{{font-size:{}px{bold}{mono}}}", face.class, face.size);
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" {size} role=\"img\">\n\
             <title>{}</title>\n<style>{style}\n{COLOURS}</style>\n<rect class=\"paper\" {size}/>\n{}</svg>\n",
            text::escaped(title),
            self.0
        )
    }
}

/// A key's rank among those asked for most, or among the largest, from 0.
#[derive(Debug, Clone, Copy)]
pub enum Mark {
    Hot(u32),
    Big(u32),
}
