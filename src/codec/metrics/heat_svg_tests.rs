//! Pictures of many data sets, parsed again: all of each data set is visible, and nothing covers
//! anything else.

use roxmltree::{Document, Node};

use super::canvas::{face, width};
use super::data::{HeatLane, HeatMap, NamedKey};
use super::render;
use crate::model::metrics::{
    HashRange, HotKey, LargeCollection, Load, PartitionContent, PartitionLimits, PartitionOrigin,
    PartitionReport, PeakSecond, Period, RequestCounts,
};
use crate::model::schema::ProvisionedThroughput;

const NOW_MS: u64 = 1_700_000_000_000;

/// A data set.
#[derive(Debug, Clone, Copy)]
struct Case {
    lanes: usize,
    partitions: u32,
    keys: usize,
    /// The units a second of the first partition; the second has twice as much, and so on.
    load: f64,
    throttles: u64,
    /// The provisioned units; 0 on demand.
    units: u64,
    bytes: u64,
    name: &'static str,
    window: Period,
    /// True if all keys have the same hash.
    together: bool,
}

const PLAIN: Case = Case {
    lanes: 2,
    partitions: 4,
    keys: 3,
    load: 20.0,
    throttles: 0,
    units: 1000,
    bytes: 70_000,
    name: "USER#",
    window: Period::Minute,
    together: false,
};

fn limits() -> PartitionLimits {
    PartitionLimits::default()
}

fn digest(place: u32, whole: u32) -> [u8; 16] {
    let first = (u64::from(place) << 32) / u64::from(whole.max(1));
    let mut digest = [0; 16];
    digest[..4].copy_from_slice(&u32::try_from(first).unwrap().to_be_bytes());
    digest
}

fn load(units: f64, throttles: u64) -> Load {
    Load {
        read: units,
        write: units / 3.0,
        read_throttles: throttles,
        write_throttles: throttles / 2,
    }
}

fn partition(case: &Case, id: u32) -> (PartitionReport, PartitionContent) {
    let asked = load(
        case.load * f64::from(id + 1) * case.window.seconds(),
        if id % 3 == 1 { case.throttles } else { 0 },
    );
    let report = PartitionReport {
        id,
        range: HashRange {
            from: digest(id, case.partitions).to_vec(),
            to: (id + 1 < case.partitions).then(|| digest(id + 1, case.partitions).to_vec()),
        },
        since_ms: NOW_MS,
        origin: PartitionOrigin::Heat,
        load: asked,
        peak: PeakSecond {
            second: NOW_MS / 1000,
            load: load(case.load * f64::from(id + 1), 0),
        },
        share: case.load * f64::from(id + 1) / 3_000.0,
        peak_share: 1.0,
    };
    (
        report,
        PartitionContent {
            collections: 3,
            items: case.bytes / 100,
            billed_bytes: case.bytes * u64::from(id + 1),
        },
    )
}

fn lane(case: &Case, at: usize) -> HeatLane {
    let place = |key: usize| {
        if case.together {
            0
        } else {
            u32::try_from(key * 7).unwrap() % case.partitions
        }
    };
    let digest_of = |key: usize| digest(place(key), case.partitions);
    let name = |key: usize| format!("{}{key}", case.name);
    let hot = |key: usize| HotKey {
        digest: digest_of(key),
        key: None,
        partition: place(key),
        load: load(case.load * case.window.seconds(), case.throttles),
        peak: PeakSecond::default(),
        total: load(case.load, 0),
    };
    let big = |key: usize| LargeCollection {
        key: None,
        partition: place(key),
        items: case.bytes,
        billed_bytes: case.bytes * 6 / 10,
    };
    let hot_keys = if case.load > 0.0 { case.keys } else { 0 };
    HeatLane {
        title: if at == 0 {
            "items".to_owned()
        } else {
            format!("gsi/{}{at}", case.name)
        },
        keys: format!("{}pk, {}sk", case.name, case.name),
        units: ProvisionedThroughput {
            read_capacity_units: case.units.max(12_000),
            write_capacity_units: case.units.max(4_000),
        },
        is_provisioned: case.units > 0,
        partitions: (0..case.partitions).map(|id| partition(case, id)).collect(),
        hot: (0..hot_keys)
            .map(|key| NamedKey {
                about: hot(key),
                digest: digest_of(key),
                name: name(key),
            })
            .collect(),
        big: (0..case.keys)
            .map(|key| NamedKey {
                about: big(key),
                digest: digest_of(key),
                name: name(key),
            })
            .collect(),
    }
}

fn picture(case: &Case) -> HeatMap {
    let lanes = (0..case.lanes).map(|at| lane(case, at)).collect();
    HeatMap {
        table: format!("{}Table", case.name),
        span: case.window.span(NOW_MS),
        limits: limits(),
        requests: RequestCounts {
            requests: case.throttles * 3,
            throttled: case.throttles / 10,
        },
        lanes,
    }
}

/// The area that a shape covers, and the shape's name.
#[derive(Debug, Clone)]
struct Area {
    what: String,
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn covers(&self, other: &Self) -> bool {
        let (across, down) = (
            self.right.min(other.right) - self.left.max(other.left),
            self.bottom.min(other.bottom) - self.top.max(other.top),
        );
        across > 0.1 && down > 0.1
    }
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name)
        .map_or(0.0, |value| value.parse().unwrap())
}

fn has_class(node: Node<'_, '_>, class: &str) -> bool {
    node.attribute("class")
        .is_some_and(|classes| classes.split(' ').any(|other| other == class))
}

/// Returns the element's own text, without that of its title, which shows only on hover.
fn words(node: Node<'_, '_>) -> String {
    node.children()
        .filter(Node::is_text)
        .filter_map(|part| part.text())
        .collect()
}

fn text_area(node: Node<'_, '_>) -> Area {
    let classes = node.attribute("class").unwrap_or_default();
    let (x, y, size) = (number(node, "x"), number(node, "y"), face(classes).size);
    let what = words(node);
    let width = width(&what, classes);
    let left = match () {
        () if has_class(node, "end") => x - width,
        () => x,
    };
    Area {
        what,
        left,
        top: y - size * 0.75,
        right: left + width,
        bottom: y + size * 0.2,
    }
}

fn shape_area(node: Node<'_, '_>) -> Option<Area> {
    let what = format!(
        "{} {}",
        node.tag_name().name(),
        node.attribute("class").unwrap_or_default()
    );
    match node.tag_name().name() {
        "rect" => {
            let (left, top) = (number(node, "x"), number(node, "y"));
            Some(Area {
                what,
                left,
                top,
                right: left + number(node, "width"),
                bottom: top + number(node, "height"),
            })
        }
        "path" if has_class(node, "stop") => {
            let (x, y) = node
                .attribute("d")?
                .strip_prefix('M')?
                .split_once('l')?
                .0
                .split_once(' ')?;
            let (x, y): (f64, f64) = (x.parse().ok()?, y.parse().ok()?);
            Some(Area {
                what,
                left: x - 5.0,
                top: y,
                right: x + 5.0,
                bottom: y + 9.0,
            })
        }
        _ => None,
    }
}

#[track_caller]
fn apart(case: &Case, areas: &[Area], others: &[Area]) {
    for (place, area) in areas.iter().enumerate() {
        let covered = others.iter().enumerate().find(|(at, other)| {
            (!std::ptr::eq(areas, others) || *at > place) && area.covers(other)
        });
        assert!(
            covered.is_none(),
            "{} covers {:?} in {case:?}: {area:?}",
            area.what,
            covered.map(|(_, other)| &other.what)
        );
    }
}

/// Parses the picture of a data set and checks all of it.
#[track_caller]
fn check(case: &Case) -> String {
    let text = render(&picture(case));
    assert_eq!(
        text,
        render(&picture(case)),
        "the same data have the same picture"
    );
    let document = Document::parse(&text).unwrap_or_else(|error| panic!("{error} in {case:?}"));
    let root = document.root_element();
    let size: Vec<f64> = root
        .attribute("viewBox")
        .unwrap()
        .split(' ')
        .map(|part| part.parse().unwrap())
        .collect();
    let whole = Area {
        what: "picture".into(),
        left: -0.1,
        top: -0.1,
        right: size[2] + 0.1,
        bottom: size[3] + 0.1,
    };
    let known = ["svg", "title", "style", "g", "rect", "path", "text"];
    for node in document.descendants().filter(Node::is_element) {
        assert!(known.contains(&node.tag_name().name()), "{node:?}");
        let is_plain =
            |name: &str| !name.starts_with("on") && !name.contains("href") && name != "style";
        assert!(
            node.attributes()
                .all(|attribute| is_plain(attribute.name())),
            "{node:?}"
        );
    }
    assert!(!text.contains("url(") && !text.contains("@import"));
    let named = |name: &'static str| {
        document
            .descendants()
            .filter(move |node| node.has_tag_name((root.tag_name().namespace().unwrap(), name)))
    };
    let texts: Vec<Area> = named("text").map(text_area).collect();
    let shapes = ["rect", "path"]
        .into_iter()
        .flat_map(named)
        .filter(|node| !has_class(*node, "paper"));
    let marks = shapes.clone().filter(|node| has_class(*node, "stop"));
    let (marks, shapes): (Vec<Area>, Vec<Area>) = (
        marks.filter_map(shape_area).collect(),
        shapes.filter_map(shape_area).collect(),
    );
    for area in texts.iter().chain(&shapes) {
        let is_inside = whole.left <= area.left
            && whole.top <= area.top
            && area.right <= whole.right
            && area.bottom <= whole.bottom;
        assert!(
            is_inside,
            "{} is not inside in {case:?}: {area:?}",
            area.what
        );
    }
    apart(case, &texts, &texts);
    apart(case, &texts, &shapes);
    apart(case, &marks, &marks);
    text
}

#[test]
fn nothing_covers_anything_else_whatever_the_data_are() {
    let names = [
        "k",
        "USER#",
        "日本語のキー日本語のキー日本語のキー",
        "W<&>\"W",
        "\u{202E}\u{7}عربي",
        "🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑",
        "iiii",
    ];
    let long: &'static str = "partition-key-of-a-length-that-nobody-types-"
        .repeat(20)
        .leak();
    for (at, name) in names.into_iter().chain([long]).enumerate() {
        for (partitions, keys) in [(1, 0), (1, 1), (3, 6), (16, 40), (17, 6), (40, 12)] {
            let window = Period::ALL[at % 3];
            let case = Case {
                partitions,
                keys,
                name,
                window,
                together: at % 2 == 0,
                ..PLAIN
            };
            check(&case);
            check(&Case {
                load: 0.0,
                units: 0,
                ..case
            });
            check(&Case {
                load: 123_456.7,
                throttles: 1_234_567,
                bytes: 9_876_543_210_123,
                ..case
            });
            check(&Case {
                load: 0.001,
                bytes: 0,
                throttles: 1,
                units: 1,
                ..case
            });
        }
    }
}

#[test]
fn many_partitions_and_many_indexes_stay_bounded() {
    let text = check(&Case {
        partitions: 4_096,
        keys: 256,
        lanes: 1,
        throttles: 3,
        ..PLAIN
    });
    assert!(
        text.contains("…4,081 more partitions in all") && text.len() < 100_000,
        "{}",
        text.len()
    );
    let text = check(&Case {
        partitions: 300,
        keys: 256,
        lanes: 21,
        throttles: 3,
        name: "日本語のキー",
        ..PLAIN
    });
    assert!(text.len() < 600_000, "{}", text.len());
    assert!(text.contains(">0 of 9 requests throttled ("), "{text}");
    // The hottest and the largest are the last ones here.
    assert!(text.contains(">p299</text>") && !text.contains(">p04</text>"));
}

#[test]
fn the_legend_says_what_is_drawn_and_which_window() {
    let text = check(&Case {
        partitions: 1,
        lanes: 1,
        window: Period::Hour,
        throttles: 2,
        ..PLAIN
    });
    for says in [
        "last hour",
        "1 partition,",
        "bytes; full for",
        "line: busiest second",
        "colour: mean load",
        "3,000 RCU/s, 1,000 WCU/s",
        "prefers-color-scheme:dark",
    ] {
        assert!(text.contains(says), "{says} is missing in {text}");
    }
    assert!(!text.contains("1 partitions") && !text.contains("no load in"));
    assert!(
        !text.contains('…'),
        "nothing is cut where names are short: {text}"
    );
    let idle = check(&Case { load: 0.0, ..PLAIN });
    assert!(
        idle.contains("no load in the last minute") && !idle.contains("loud end"),
        "{idle}"
    );
}

#[test]
fn parts_of_one_collection_name_their_key() {
    let mut picture = picture(&Case {
        partitions: 2,
        lanes: 1,
        keys: 1,
        ..PLAIN
    });
    let partitions = &mut picture.lanes[0].partitions;
    partitions[0].0.range.to = Some([&digest(0, 2)[..], b"sort"].concat());
    partitions[1].0.range.from = [&digest(0, 2)[..], b"sort"].concat();
    let text = render(&picture);
    let row = |name: &str| {
        text.split(&format!("<title>{name}:"))
            .nth(1)
            .unwrap()
            .split("</g>")
            .next()
            .unwrap()
            .to_owned()
    };
    assert!(
        row("p00").contains(">part of 0000</text>") && row("p00").contains(">USER#0</text>"),
        "{}",
        row("p00")
    );
    assert!(row("p01").contains(">USER#0</text>"), "{}", row("p01"));
    assert_eq!(
        text.matches("<path class=\"lead\" d=\"M32 ").count(),
        1,
        "a bracket"
    );
    // The second partition has twice the load of the first.
    assert!(
        !row("p01").contains("loud end") && row("p01").contains(">67 %</text>"),
        "{}",
        row("p01")
    );
}

/// Checks the class of the bar of reads of the second of two partitions, and its percent; its
/// busiest second takes `busiest` read units.
#[track_caller]
fn heat(units: u64, load: f64, busiest: f64, expected: (&str, &str)) {
    heat_of(Period::Minute, units, load, busiest, expected);
}

#[track_caller]
fn heat_of(window: Period, units: u64, load: f64, busiest: f64, expected: (&str, &str)) {
    let mut picture = picture(&Case {
        window,
        partitions: 2,
        lanes: 1,
        keys: 0,
        load: load / 2.0,
        ..PLAIN
    });
    picture.lanes[0].partitions[1].0.peak.load.read = busiest;
    picture.lanes[0].units = ProvisionedThroughput {
        read_capacity_units: units,
        write_capacity_units: 1_000_000,
    };
    let text = render(&picture);
    let row = text
        .split("<title>p01:")
        .nth(1)
        .unwrap()
        .split("</g>")
        .next()
        .unwrap();
    let bars: Vec<&str> = row
        .lines()
        .filter(|line| line.contains("height=\"8.0\"") && !line.contains("\"track\""))
        .collect();
    assert!(
        bars[0].contains(&format!("class=\"{}\"", expected.0))
            && row.contains(&format!(">{}</text>", expected.1)),
        "{row}"
    );
}

#[test]
fn load_is_seen_against_the_units_and_against_the_partition() {
    // 76 of an even share of 100 are hot, though a partition gives 3,000; 19 are not full, even if
    // all others are idle.
    heat(200, 76.0, 76.0, ("h4", "76 %"));
    heat(200, 19.0, 19.0, ("h2", "19 %"));
    heat(6_000, 76.0, 76.0, ("h1", "3 %"));
    heat(1_000_000, 2_990.0, 2_990.0, ("h5", "100 %"));
    heat(100, 100.0, 100.0, ("h6", "200 %"));
    // Units are saved for a second that takes more; a partition's own limit is not.
    heat(200, 19.0, 300.0, ("h2", "19 %"));
    heat(6_000, 76.0, 3_000.0, ("h6", "3 %"));
    // The busiest second of an hour or a day is not what it sustains.
    for window in [Period::Hour, Period::Day] {
        heat_of(window, 6_000, 76.0, 3_000.0, ("h1", "3 %"));
        heat_of(window, 100, 100.0, 100.0, ("h6", "200 %"));
    }
}
