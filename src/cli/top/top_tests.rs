//! Tests of `ddbfs top`: from texts of files to rows, from keys to states, from states to screens.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

use super::read::{self, PartitionHeat, Readings, SourceDetails};
use super::screen;
use super::state::{AfterKey, Sort, TopState};
use crate::model::metrics::Period;

/// Makes a table's `capacity.json` from each source's kind, name, billing, units read and written
/// in the last minute, and throttles.
fn capacity(sources: &[(&str, &str, Value, f64, f64, u64)], requests: u64) -> String {
    let sources: Vec<Value> = sources
        .iter()
        .map(|(kind, name, billing, read, write, throttles)| {
            let load = json!({ "read_units": read, "write_units": write, "throttles": throttles });
            json!({ "name": name, "kind": kind, "billing": billing, "items": 10, "billed_bytes": 2048, "since_start": load, "last_minute": load, "last_hour": load, "last_day": load, "bulk_loads": (*kind == "gsi").then(|| json!({ "write_units": 400.0 })) })
        })
        .collect();
    let latency = json!({ "requests": requests, "mean_ms": 2.0, "worst_ms": 30.5 });
    let sent = json!({ "requests": requests, "throttled": requests / 6 });
    let sent = json!({ "last_minute": sent, "last_hour": sent, "last_day": sent });
    json!({ "name": "any", "sources": sources, "requests": sent, "latency": { "last_two_minutes": latency }, "more": 1 })
        .to_string()
}

fn provisioned(read: u64, write: u64) -> Value {
    json!({ "read_units_a_second": read, "write_units_a_second": write })
}

/// Makes readings of two tables: one with provisioned units and both kinds of index, one on demand.
fn readings(orders: (f64, f64, u64), requests: u64) -> Readings {
    let of_orders = capacity(
        &[
            (
                "table",
                "Orders",
                provisioned(10, 5),
                orders.0,
                orders.1,
                orders.2,
            ),
            ("gsi", "by-status", provisioned(4, 4), 0.0, 240.0, 0),
            ("lsi", "by-date", json!("with the table"), 60.0, 0.0, 1),
        ],
        requests,
    );
    let of_logs = capacity(&[("table", "Logs", json!("on demand"), 30.0, 0.0, 0)], 0);
    let sources = [
        read::capacity("Orders", &of_orders),
        read::capacity("Logs", &of_logs),
    ];
    Readings {
        sources: sources.into_iter().flat_map(Result::unwrap).collect(),
        unread: None,
        spent: None,
    }
}

fn state() -> TopState {
    let mut state = TopState::new(
        "/mnt".to_owned(),
        Sort::default(),
        String::new(),
        Period::Minute,
    );
    state.apply(readings((540.0, 120.0, 7), 12), None);
    state
}

const HEAT: &str = "#last minute: 2026-01-02T03:04:10.000Z to 2026-01-02T03:05:05.000Z\n#partition\thash_from\thash_to\tcollections\titems\tbytes\theat_percent\trcu_per_s\twcu_per_s\tthrottles\tsplit_candidate\tbusiest_percent\tbusiest_second\tread_throttles\twrite_throttles\n\
    p00\t00\t80\t3\t6\t900\t2.5\t9.00\t0.10\t0\tno\t50.0\t2026-01-02T03:04:59.000Z\t0\t0\n\
    p01\t80\tff\t1\t4\t536870912\t91.0\t0.00\t1.90\t7\theat: its hottest key\t100.0\t2026-01-02T03:05:01.000Z\t0\t7\n";
const HOT: &str = "#rank\tpartition\tkey\trcu_last_minute\twcu_last_minute\tthrottles\tload_last_minute\tload\n\
    1\tp01\tu7\t0.0\t114.0\t7\t342.0\t342.0\n2\tp00\tan%20other\t540.0\t6.0\t0\t558.0\t558.0\n";

/// Makes an `access.json` of two patterns, the first of an index.
fn access() -> String {
    let counts = |read: f64, requests: u64| json!({"requests": requests, "read_units": read, "write_units": 0.0, "evaluated": 400, "returned": 4, "throws_away": true, "p50_ms": 0.1, "p99_ms": 1.25, "throttled": 3, "failed_conditions": 0, "entities": {}});
    let pattern = |request: &str, index: Value, read: f64| {
        let last = counts(read, 8);
        json!({"request": request, "index": index, "minute": last, "hour": last, "day": last})
    };
    json!({"table": "Orders", "patterns": [
        pattern("Query Orders/by-status WHERE status = ?", json!("by-status"), 20.0),
        pattern("Scan Orders FILTER `a\u{1b}[31m\nb` = ?", Value::Null, 512.0),
    ]})
    .to_string()
}

fn details() -> SourceDetails {
    SourceDetails {
        path: "Orders".to_owned(),
        window: Period::Minute,
        partitions: read::lines::<PartitionHeat>(HEAT).unwrap(),
        keys: read::hot_keys(HOT, Period::Minute).unwrap(),
        patterns: read::patterns(&access(), "", Period::Minute).unwrap(),
    }
}

/// Returns the paths in the order of the screen.
fn paths(state: &TopState) -> Vec<&str> {
    state
        .shown()
        .iter()
        .map(|row| row.reading.path.as_str())
        .collect()
}

fn press(state: &mut TopState, keys: &str) -> AfterKey {
    let code = |key: char| match key {
        '⏎' => KeyCode::Enter,
        '⎋' => KeyCode::Esc,
        '⌫' => KeyCode::Backspace,
        '↓' => KeyCode::Down,
        '↑' => KeyCode::Up,
        letter => KeyCode::Char(letter),
    };
    keys.chars()
        .map(|key| state.press(KeyEvent::new(code(key), KeyModifiers::NONE)))
        .last()
        .unwrap()
}

#[test]
fn a_table_counts_its_local_indexes_and_is_told_by_its_path() {
    let state = state();
    let told: Vec<_> = state
        .shown()
        .iter()
        .map(|row| {
            (
                row.reading.path.clone(),
                row.load.read,
                row.load.write,
                row.load.throttles,
            )
        })
        .collect();
    let expected = [
        ("Orders", 10.0, 2.0, 8),
        ("Orders/gsi/by-status", 0.0, 4.0, 0),
        ("Orders/lsi/by-date", 1.0, 0.0, 1),
        ("Logs", 0.5, 0.0, 0),
    ];
    assert_eq!(
        told,
        expected.map(|(path, read, write, throttles)| (path.to_owned(), read, write, throttles))
    );
    let vector = ("vector", "near", json!("on demand"), 0.0, 0.0, 0);
    let read = read::capacity("T", &capacity(&[vector], 0)).unwrap();
    assert_eq!(read[0].path, "T/vector/near");
    // Nothing is made up from an invalid capacity.json.
    for text in ["", "{}", "[1]", "{\"sources\":[],\"latency\":7}"] {
        assert!(super::read::capacity("T", text).is_err(), "{text}");
    }
}

#[test]
fn columns_are_found_by_their_names_and_lines_without_a_number_are_errors() {
    let first = &read::lines::<PartitionHeat>(HEAT).unwrap()[1];
    assert_eq!(
        (
            first.name.as_str(),
            first.percent,
            first.write_per_second,
            first.throttles,
            first.bytes
        ),
        ("p01", 91.0, 1.9, 7, 536_870_912)
    );
    let keys = read::hot_keys(HOT, Period::Minute).unwrap();
    assert_eq!(
        (
            keys[0].name.as_str(),
            keys[0].partition.as_str(),
            keys[0].write_per_second
        ),
        ("u7", "p01", 1.9)
    );
    // Another order, other columns, a comment before the names.
    let keys = read::hot_keys(
        "#the last hour\n#key\twcu_last_hour\tnew\trcu_last_hour\tthrottles\tpartition\npk\t3600\tx\t7200\t0\tp00\n",
        Period::Hour,
    )
    .unwrap();
    assert_eq!(
        (
            keys[0].name.as_str(),
            keys[0].read_per_second,
            keys[0].write_per_second
        ),
        ("pk", 2.0, 1.0)
    );
    for text in ["", "#partition\titems\n", "\n\n"] {
        let none: Vec<PartitionHeat> = read::lines(text).unwrap();
        assert_eq!(none, [], "{text:?}");
    }
    for (text, lacking) in [
        (
            "#partition\titems\np00\t1\n",
            "missing field `heat_percent`",
        ),
        (&HEAT.replace("\t91.0", ""), "14 fields"),
        (
            &HEAT.replace("\t6\t900", "\t?\t900"),
            "invalid digit found in string",
        ),
    ] {
        let error = read::lines::<PartitionHeat>(text).unwrap_err().to_string();
        assert!(error.contains(lacking), "{error}");
    }
}

#[test]
fn rates_are_those_between_two_looks() {
    let mut state = state();
    let (mean, worst) = (state.shown()[0].mean_ms, state.shown()[0].worst_ms);
    assert_eq!((mean, worst), (Some(2.0), Some(30.5)));
    // 20 units more in 2 seconds, and no request in the last two minutes.
    state.apply(readings((560.0, 120.0, 7), 0), Some(2.0));
    let orders = state.shown()[0].clone();
    assert_eq!(
        (orders.load.read, orders.load.write, orders.mean_ms),
        (10.0, 0.0, None)
    );
    state.apply(readings((560.0, 150.0, 7), 22), Some(2.0));
    let orders = state.shown()[0].clone();
    assert_eq!((orders.load.write, orders.mean_ms), (15.0, Some(2.0)));
    assert!(orders.is_near_provisioned());
    // The daemon restarted: over the last minute again.
    state.apply(readings((0.0, 60.0, 0), 1), Some(2.0));
    assert_eq!(
        (state.shown()[0].load.read, state.shown()[0].load.write),
        (1.0, 1.0)
    );
}

#[test]
fn letters_sort_filter_and_choose() {
    let cases: [(&str, &[&str], &str); 10] = [
        (
            "u",
            &[
                "Orders",
                "Orders/gsi/by-status",
                "Orders/lsi/by-date",
                "Logs",
            ],
            "Orders",
        ),
        (
            "r",
            &[
                "Orders",
                "Orders/lsi/by-date",
                "Logs",
                "Orders/gsi/by-status",
            ],
            "Orders",
        ),
        (
            "w",
            &[
                "Orders/gsi/by-status",
                "Orders",
                "Logs",
                "Orders/lsi/by-date",
            ],
            "Orders/gsi/by-status",
        ),
        (
            "t",
            &[
                "Orders",
                "Orders/lsi/by-date",
                "Logs",
                "Orders/gsi/by-status",
            ],
            "Orders",
        ),
        (
            "l",
            &[
                "Orders",
                "Logs",
                "Orders/gsi/by-status",
                "Orders/lsi/by-date",
            ],
            "Orders",
        ),
        (
            "n",
            &[
                "Logs",
                "Orders",
                "Orders/gsi/by-status",
                "Orders/lsi/by-date",
            ],
            "Logs",
        ),
        // The chosen row stays chosen in another order.
        (
            "n↓↓w",
            &[
                "Orders/gsi/by-status",
                "Orders",
                "Logs",
                "Orders/lsi/by-date",
            ],
            "Orders/gsi/by-status",
        ),
        (
            "n↓↓↓↓↓↑",
            &[
                "Logs",
                "Orders",
                "Orders/gsi/by-status",
                "Orders/lsi/by-date",
            ],
            "Orders/gsi/by-status",
        ),
        (
            "/BYx⌫-q⌫⏎j",
            &["Orders/gsi/by-status", "Orders/lsi/by-date"],
            "Orders/lsi/by-date",
        ),
        (
            "/gsi⎋",
            &[
                "Orders",
                "Orders/gsi/by-status",
                "Orders/lsi/by-date",
                "Logs",
            ],
            "Orders",
        ),
    ];
    for (keys, expected, chosen) in cases {
        let mut state = state();
        assert_eq!(press(&mut state, keys), AfterKey::Stay, "{keys}");
        assert_eq!(paths(&state), expected, "{keys}");
        assert_eq!(state.chosen().unwrap().reading.path, chosen, "{keys}");
    }
    let mut state = state();
    press(&mut state, "m");
    assert_eq!(state.window, Period::Hour);
    press(&mut state, "/none");
    assert!(state.chosen().is_none());
    // While a filter is typed, `q` is a letter; Ctrl-C is not.
    assert_eq!(press(&mut state, "q"), AfterKey::Stay);
    assert_eq!(
        state.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)),
        AfterKey::Leave
    );
    assert_eq!(press(&mut state, "⎋q"), AfterKey::Leave);
}

#[test]
fn a_chosen_table_that_goes_leaves_the_first() {
    let mut state = state();
    press(&mut state, "n");
    assert_eq!(state.chosen().unwrap().reading.path, "Logs");
    press(&mut state, "↓↓");
    let mut left = readings((0.0, 0.0, 0), 0);
    left.sources.retain(|reading| reading.path == "Logs");
    state.apply(left, Some(1.0));
    assert_eq!(
        (paths(&state), state.chosen().unwrap().reading.path.as_str()),
        (vec!["Logs"], "Logs")
    );
    state.apply(Readings::default(), Some(1.0));
    assert!(state.chosen().is_none() && drawn(&state, 80, 24).contains("0 of 0 tables"));
}

/// Returns the screen as text, without trailing blanks.
fn drawn(state: &TopState, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(frame, state)).unwrap();
    let buffer = terminal.backend().buffer();
    if width == 0 {
        return String::new();
    }
    let rows = buffer.content().chunks(usize::from(width));
    rows.map(|cells| {
        cells
            .iter()
            .map(|cell| cell.symbol())
            .collect::<String>()
            .trim_end()
            .to_owned()
            + "\n"
    })
    .collect()
}

#[test]
fn the_screen_shows_tables_partitions_and_keys() {
    let mut state = state();
    state.details = Some(details());
    let wide = drawn(&state, 170, 16);
    for part in [
        "ddbfs top /mnt  2 of 12 requests throttled (8 throttle events)  4 of 4 tables and indexes, by units",
        "   bulk",
        " 400",
        "Orders/gsi/by-status",
        "\nlast minute, latency of two minutes───",
        "last minute: 2 partitions of Orders",
        "last minute: hottest keys of Orders",
        "an%20other",
        "512.00 MiB",
        "q quit",
    ] {
        assert!(wide.contains(part), "{part}\n{wide}");
    }
    let orders = wide
        .lines()
        .find(|line| line.starts_with("Orders  "))
        .unwrap();
    let figures: Vec<&str> = orders.split_whitespace().collect();
    assert_eq!(
        figures,
        [
            "Orders", "10.0", "10", "2.00", "5", "8", "2.00", "30.5", "10", "2.00", "KiB", "0"
        ]
    );
    // The largest partition, with nine tenths of the units.
    let bars = |name: &str| {
        wide.lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_owned()
    };
    assert!(
        bars("p01").contains("░ ████████ ") && bars("p01").matches('█').count() > 10,
        "{wide}"
    );
    assert!(bars("p00").contains("░░░░"), "{wide}");
    println!("{wide}");
}

#[test]
fn narrow_and_low_terminals_keep_what_tells_most() {
    let mut state = state();
    state.details = Some(details());
    let narrow = drawn(&state, 44, 24);
    assert!(
        narrow.contains("read/s") && narrow.contains("write/s") && !narrow.contains("worst ms"),
        "{narrow}"
    );
    let narrower = drawn(&state, 30, 24);
    assert!(
        narrower.contains("read/s") && !narrower.contains("write/s  "),
        "{narrower}"
    );
    // The end of a path tells more than its beginning.
    let narrowest = drawn(&state, 12, 24);
    assert!(narrowest.contains("…i/by-status"), "{narrowest}");
    let low = drawn(&state, 80, 8);
    assert!(
        low.contains("Orders/gsi/by-status") && !low.contains("hottest"),
        "{low}"
    );
    // Any size is drawn.
    for width in [0, 1, 7, 21, 33, 60, 111] {
        for height in [0, 1, 2, 3, 11, 12, 14] {
            drawn(&state, width, height);
        }
    }
}

#[test]
fn each_part_names_its_window_and_nothing_is_cut_at_80_columns() {
    let mut state = state();
    state.mount = "/mnt/".to_owned() + &"d".repeat(80);
    state.apply(readings((560.0, 120.0, 7), 12), Some(2.04));
    let mut long = details();
    long.path = format!("Orders/gsi/{}", "by-".repeat(40));
    long.keys[0].name = "k".repeat(90) + "-end";
    state.details = Some(long);
    let drawn = drawn(&state, 80, 24);
    let lines: Vec<&str> = drawn.lines().collect();
    assert!(
        lines[0]
            .trim_end()
            .ends_with("d  2 of 12 requests throttled (8 throttle events)")
            && lines[1].starts_with("last 2.0 seconds; throttles of the last minute")
            && lines[23].ends_with("m window  a access patterns  u r w t l n sort  / filter"),
        "{drawn}"
    );
    for part in [
        "last minute: 2 partitions of …",
        "last minute: hottest keys of …",
        "k-end",
    ] {
        assert!(drawn.contains(part), "{part}\n{drawn}");
    }
}

#[test]
fn access_patterns_are_a_page() {
    let mut state = state();
    state.details = Some(details());
    press(&mut state, "a");
    let narrow = drawn(&state, 80, 24);
    for part in [
        "last minute: access patterns of Orders",
        "\nrequest   ",
        "    read   write",
        "\nScan Orders FILTER `a\\u{1b}[31m\\nb` = ?",
        "\nQuery Orders/by-status WHERE status = ?",
        "a access patterns",
    ] {
        assert!(narrow.contains(part), "{part}\n{narrow}");
    }
    assert!(!narrow.contains("hottest"), "{narrow}");
    let wide = drawn(&state, 200, 24);
    let titles = "requests    read   write evaluated returned p99 ms throttled";
    assert!(wide.contains(titles), "{wide}");
    println!("{narrow}{wide}");
    // An index has its own.
    let of_index = read::patterns(&access(), "by-status", Period::Day).unwrap();
    assert_eq!(of_index.len(), 1);
    state.details.as_mut().unwrap().patterns.clear();
    assert!(drawn(&state, 80, 24).contains("no requests"));
    press(&mut state, "a");
    assert!(drawn(&state, 80, 24).contains("hottest keys"));
}

#[test]
fn what_is_wrong_is_said_in_the_first_line() {
    let mut state = state();
    state.problem = Some("no answer for 7 seconds".to_owned());
    assert!(drawn(&state, 80, 24).starts_with("ddbfs top /mnt  no answer for 7 seconds"));
    press(&mut state, "/by");
    assert!(
        drawn(&state, 80, 24).contains("\n/by"),
        "{}",
        drawn(&state, 80, 24)
    );
}

#[test]
fn what_a_service_elsewhere_was_paid_is_told() {
    let text = r#"{"since_start":{"read_units":120.5,"write_units":0.0,"throttles":0},"cost_on_demand":0.0125,"currency":"USD","limits":{"budget":2.0,"budget_of":"a day","spent_today":0.5,"read_units_a_second":25.0,"write_units_a_second":"default"}}"#;
    let mut state = state();
    state.spent = read::spending(text).unwrap();
    assert!(
        drawn(&state, 160, 24)
            .lines()
            .next()
            .unwrap()
            .contains("spent 0.0125 USD, 0.5 today, budget 2/day, max-rcu 25, max-wcu default"),
        "{}",
        drawn(&state, 160, 24)
    );
    // A mount of local data shows no spending.
    assert_eq!(
        read::spending(r#"{"cost_on_demand":0.0125,"currency":"USD","limits":null}"#).unwrap(),
        None
    );
}
