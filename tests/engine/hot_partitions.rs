//! Partitions that are asked for too much (docs/requirements.md T-02, T-23, T-25, P-15, P-16; docs/dynamodb.md 22.1), for hours on a clock that is
//! turned by hand. A partition gives 30 read and 10 write units a second here.

use crate::support::engine::bed::*;
use crate::support::engine::*;
use ddbfs::database::{Database, EntryKey};
use ddbfs::engine::EngineOptions;
use ddbfs::model::metrics::{
    PartitionContent, PartitionLimits, PartitionOrigin, PartitionReport, Period, SplitCandidate,
};
use ddbfs::model::{Item, Key};

/// Of a new table on demand.
const AT_FIRST: usize = 4;

fn bed(key: &str, indexes: &[&str]) -> Bed {
    let partition_limits = PartitionLimits {
        read_units_max: 30.0,
        write_units_max: 10.0,
        ..PartitionLimits::default()
    };
    let bed = Bed::with(definition("Tab", key, indexes), |options| EngineOptions {
        partition_limits,
        ..options
    });
    // The next second is the first of ten that are counted together.
    bed.clock.advance_ms(119_000);
    bed
}

impl Bed {
    /// Asks for as much each second, and lets the background look at it every ten.
    fn ask(&self, minutes: u64, mut each_second: impl FnMut(u64)) {
        for second in 0..minutes * 60 {
            self.clock.advance_ms(1_000);
            each_second(second);
            if second % 10 == 9 {
                self.background();
            }
        }
    }

    fn described(&self, index: &str) -> Vec<(PartitionReport, PartitionContent, SplitCandidate)> {
        let partitions = self.partitions(index).into_iter();
        let described = partitions.map(|partition| {
            let (content, candidate) = self
                .layout()
                .partition_content(&source(index), &partition)
                .unwrap();
            (partition, content, candidate)
        });
        described.collect()
    }

    /// Items in the partitions that were made or cut for heat, and whether they would be split, in order; the others are as at first.
    #[track_caller]
    fn check_split(&self, index: &str, expected: usize) -> Vec<(PartitionContent, SplitCandidate)> {
        let described = self.described(index);
        let text: Vec<_> = described
            .iter()
            .map(|(partition, content, candidate)| (partition.origin.name(), content, candidate))
            .collect();
        assert_eq!(described.len(), AT_FIRST + expected, "{text:?}");
        let is_cut = |partition: &PartitionReport| {
            let next = described
                .iter()
                .find(|(next, ..)| Some(&next.range.from) == partition.range.to.as_ref());
            [Some(partition), next.map(|(next, ..)| next)]
                .into_iter()
                .flatten()
                .any(|one| one.origin == PartitionOrigin::Heat)
        };
        let cut: Vec<_> = described
            .iter()
            .filter(|(partition, ..)| is_cut(partition))
            .collect();
        assert!(
            cut.iter().all(|(_, content, _)| content.items > 0),
            "a partition is of no use: {text:?}"
        );
        assert_clean(&self.database);
        cut.into_iter()
            .map(|(_, content, candidate)| (*content, candidate.clone()))
            .collect()
    }

    fn put_items(&self, pk: &str, items: u64) {
        (0..items)
            .for_each(|sk| drop(put(&self.database, "Tab", item(pk, &sk.to_string(), 0)).unwrap()));
    }
}

fn write(bed: &Bed, pk: &str, sk: u64) {
    put(&bed.database, "Tab", item(pk, &sk.to_string(), 0)).unwrap();
}

/// Numbers that jump about.
fn scattered(turn: u64, below: u64) -> u64 {
    (turn.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % below
}

/// Calls with 17 turns every two seconds: 8.5 writes a second.
fn turns(second: u64) -> impl Iterator<Item = u64> {
    second * 17 / 2..(second + 1) * 17 / 2
}

#[test]
fn p_15_a_hot_collection_that_is_alone_is_split_by_sort_key_at_once() {
    let bed = bed("pk:S sk:N", &[]);
    bed.put_items("one", 50);
    bed.ask(60, |second| {
        turns(second).for_each(|turn| write(&bed, "one", scattered(turn, 50)))
    });
    let parts = bed.check_split("", 1);
    assert!(
        parts
            .iter()
            .all(|(content, candidate)| content.items >= 15
                && *candidate == SplitCandidate::NotNeeded),
        "{parts:?}"
    );
    let cut = bed
        .partitions("")
        .into_iter()
        .find(|partition| partition.origin == PartitionOrigin::Heat)
        .unwrap()
        .range
        .from;
    let bound = bed.layout().bound_key(&source(""), &cut).unwrap().unwrap();
    assert_eq!(
        (&bound.partition, bound.sort.len(), bound.is_after),
        (&vec![s("one")], 1, false)
    );
    assert_eq!(
        bed.layout().bound_key(&source(""), &[0x80; 16]).unwrap(),
        None
    );
    // It grew: each part is split by itself.
    bed.ask(20, |second| {
        turns(second)
            .chain(turns(second))
            .for_each(|turn| write(&bed, "one", scattered(turn, 50)))
    });
    let parts = bed.check_split("", 3);
    assert!(
        parts.iter().all(|(content, _)| content.items >= 6),
        "{parts:?}"
    );
    assert_eq!(
        query_pages(
            &bed.database,
            query_request("Tab", "pk = :v", &[(":v", s("one"))])
        )
        .concat()
        .len(),
        50
    );
}

#[test]
fn t_23_a_hot_key_among_others_is_put_apart_and_then_split_by_sort_key() {
    let bed = bed("pk:S sk:N", &[]);
    (0..400).for_each(|key| bed.put_items(&format!("k{key}"), 2));
    bed.put_items("hot", 50);
    let ask = |second: u64| {
        turns(second).for_each(|turn| write(&bed, "hot", scattered(turn, 50)));
        write(&bed, &format!("k{}", scattered(second, 400)), 1);
    };
    bed.ask(1, ask);
    let parts = bed.check_split("", 2);
    assert_eq!(
        (parts[1].0.collections, parts[1].0.items),
        (1, 50),
        "{parts:?}"
    );
    let bounds = bed
        .partitions("")
        .into_iter()
        .filter(|partition| partition.origin == PartitionOrigin::Heat);
    let bounds = bounds.map(|partition| {
        bed.layout()
            .bound_key(&source(""), &partition.range.from)
            .unwrap()
            .unwrap()
    });
    let bounds: Vec<_> = bounds
        .map(|bound| (bound.partition, bound.sort, bound.is_after))
        .collect();
    assert_eq!(
        bounds,
        [
            (vec![s("hot")], Vec::new(), false),
            (vec![s("hot")], Vec::new(), true)
        ]
    );
    bed.ask(60, ask);
    let parts = bed.check_split("", 3);
    assert!(
        parts[1..3]
            .iter()
            .all(|(content, _)| content.collections == 1 && content.items >= 15),
        "{parts:?}"
    );
}

#[test]
fn p_16_t_25_a_collection_that_a_local_index_holds_is_alone_and_stays_whole() {
    let bed = bed("pk:S sk:N", &["L byB b:N KEYS_ONLY"]);
    (0..40).for_each(|key| bed.put_items(&format!("k{key}"), 2));
    bed.put_items("hot", 50);
    // Each write costs one unit of the table and one of the index, which lie together; half of the turns do.
    bed.ask(60, |second| {
        turns(second).for_each(|turn| write(&bed, "hot", scattered(turn, 50)))
    });
    let parts = bed.check_split("", 2);
    let hot = parts
        .iter()
        .find(|(content, _)| content.items == 50)
        .unwrap();
    assert_eq!(
        (hot.0.collections, &hot.1),
        (1, &SplitCandidate::HeldByLocalIndex)
    );
}

#[test]
fn t_02_an_item_that_is_hot_by_itself_is_alone_and_nothing_more_is_split() {
    let with_sort = bed("pk:S sk:N", &[]);
    with_sort.put_items("one", 50);
    with_sort.ask(30, |second| {
        turns(second).for_each(|_| write(&with_sort, "one", 17))
    });
    let parts = with_sort.check_split("", 2);
    let items: Vec<u64> = parts.iter().map(|(content, _)| content.items).collect();
    assert_eq!(
        (items, &parts[1].1),
        (vec![17, 1, 32], &SplitCandidate::Single)
    );

    let without = bed("pk:S", &[]);
    let write =
        |key: &str| drop(put(&without.database, "Tab", Item::from([("pk", s(key))])).unwrap());
    (0..100).for_each(|key| write(&format!("k{key}")));
    without.ask(30, |second| turns(second).for_each(|_| write("k7")));
    let parts = without.check_split("", 2);
    assert_eq!(
        (parts[1].0.items, &parts[1].1),
        (1, &SplitCandidate::Single)
    );
}

#[test]
fn t_21_load_that_follows_growing_sort_keys_is_not_split_again_and_again() {
    let bed = bed("pk:S sk:N", &["G byA a:S KEYS_ONLY"]);
    (0..40).for_each(|key| bed.put_items(&format!("k{key}"), 2));
    bed.ask(30, |second| {
        turns(second).for_each(|turn| write(&bed, "log", 1_000 + turn))
    });
    let parts = bed.check_split("", 2);
    assert_eq!(
        (parts[1].0.collections, &parts[1].1),
        (1, &SplitCandidate::Sequence)
    );
    // Entries of an index without sort key are in the order of the base keys: the same.
    let of_index = bed.described("byA");
    assert!(of_index.len() <= AT_FIRST + 2, "{}", of_index.len());
}

#[test]
fn collections_that_are_read_as_a_whole_are_split_until_each_part_gives_enough() {
    let bed = bed("pk:S sk:N", &[]);
    (0..200).for_each(|sk| {
        drop(put(&bed.database, "Tab", item("one", &sk.to_string(), 2_000)).unwrap())
    });
    bed.clock.advance_ms(120_000);
    // 50 units each, of which a partition gives 24 before it is split.
    bed.ask(30, |_| {
        drop(
            bed.database
                .query(&query_request("Tab", "pk = :v", &[(":v", s("one"))]))
                .unwrap(),
        )
    });
    let parts = bed.check_split("", 3);
    assert!(
        parts
            .iter()
            .all(|(content, _)| (30..=70).contains(&content.items)),
        "{parts:?}"
    );
}

#[test]
fn many_keys_of_the_same_heat_are_parted_until_each_partition_gives_enough() {
    let bed = bed("pk:S sk:N", &[]);
    (0..100).for_each(|key| bed.put_items(&format!("k{key}"), 1));
    let count = |bed: &Bed| bed.partitions("").len();
    // 120 writes a second on all: twelve partitions' worth, at 80 % of what each gives fifteen and more.
    bed.ask(8, |second| {
        (0..120).for_each(|turn| write(&bed, &format!("k{}", (second * 120 + turn) % 100), 0))
    });
    let after = count(&bed);
    assert!((15..=40).contains(&after), "{after}");
    assert!(bed.contents("").iter().all(|content| content.items > 0));
    bed.ask(3, |second| {
        (0..120).for_each(|turn| write(&bed, &format!("k{}", (second * 120 + turn) % 100), 0))
    });
    assert_eq!(count(&bed), after, "it has come to rest");
    // And stays when the load is gone.
    bed.ask(60, |_| ());
    assert_eq!(count(&bed), after);
}

/// The partition that has an item of a key.
fn part_of(bed: &Bed, pk: &str, sk: u64) -> u32 {
    let base = Key {
        partition: s(pk),
        sort: Some(n(&sk.to_string())),
    };
    let key = EntryKey { index: None, base };
    bed.layout().partition_of_entry(&source(""), &key).unwrap()
}

/// The place of the writer's next item.
fn of_writer(writer: u64, turn: u64) -> u64 {
    writer * 1_000_000 + turn
}

#[test]
fn logs_of_several_writers_are_cut_between_the_writers_and_no_more() {
    // Each writer has a part of the sort keys, and 8.5 writes a second: more than a partition gives for long.
    for writers in [2, 4] {
        let bed = bed("pk:S sk:N", &[]);
        let first = |second: u64| second * writers * 17 / 2;
        bed.ask(6, |second| {
            for turn in first(second)..first(second + 1) {
                let writer = scattered(turn, writers);
                write(&bed, "log", of_writer(writer, turn));
            }
        });
        let parts = bed.check_split("", writers as usize - 1);
        assert!(
            parts
                .iter()
                .all(|(_, candidate)| *candidate == SplitCandidate::Sequence
                    || *candidate == SplitCandidate::NotNeeded),
            "{parts:?}"
        );
    }
}

#[test]
fn the_log_of_several_writers_in_one_order_is_not_cut() {
    let bed = bed("pk:S sk:N", &[]);
    // Times of writers whose clocks differ, and whose writes come some seconds late.
    bed.ask(5, |second| {
        turns(second).for_each(|turn| write(&bed, "log", 1_000 + turn - scattered(turn, 60)))
    });
    bed.check_split("", 0);
    let candidates: Vec<_> = bed
        .described("")
        .into_iter()
        .filter(|(_, content, _)| content.items > 0)
        .map(|(_, _, candidate)| candidate)
        .collect();
    assert_eq!(candidates, [SplitCandidate::Sequence]);
}

#[test]
fn a_cut_key_is_told_with_the_part_that_is_hot_now() {
    let bed = bed("pk:S sk:N", &[]);
    let next = std::cell::Cell::new(1);
    let last = [0, 1].map(std::cell::Cell::new);
    let ask = |minutes, writers: &[u64]| {
        bed.ask(minutes, |second| {
            for turn in turns(second) {
                let writer = writers[turn as usize % writers.len()];
                let place = of_writer(writer, next.replace(next.get() + 1));
                last[writer as usize].set(place);
                write(&bed, "log", place);
            }
        });
    };
    let told = |window| {
        let hot = bed.layout().hot_keys(&source(""), window, 1).unwrap();
        assert_eq!(hot[0].key, Some(vec![s("log")]));
        hot[0].partition
    };
    ask(2, &[0, 1]);
    bed.check_split("", 1);
    let parts = |bed: &Bed| [0, 1].map(|writer: usize| part_of(bed, "log", last[writer].get()));
    let [low, high] = parts(&bed);
    assert_ne!(low, high);
    for (writer, part) in [(1, high), (0, low), (1, high)] {
        ask(2, &[writer]);
        assert_eq!(told(Period::Minute), part);
        assert_eq!(told(Period::Day), part);
    }
    // Each went on in its own part.
    assert_eq!(parts(&bed), [low, high]);
}
