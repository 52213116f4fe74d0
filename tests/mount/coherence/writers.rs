//! Writers of all kinds. Each records the state of a name before it writes, and after the
//! acknowledgement.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::field::{BUCKETS, Field, definition};
use super::names::{Item, MOVING, Name, REMADE, State, Taken};
use crate::support::daemon::DDBFS;
use crate::support::seeded::Numbers;
use crate::support::wait::moment;

type Put = fn(&Field, &mut Numbers, &Name, &Item) -> io::Result<()>;
type Delete = fn(&Field, &mut Numbers, &Name) -> io::Result<()>;
/// A function that writes names with their new items.
type Several = fn(&Field, &mut Numbers, &[(&Name, Option<Item>)]) -> io::Result<()>;

const PUTS: [(&str, Put); 10] = [
    ("PutItem", put_item),
    ("UpdateItem", update_item),
    (WRITE, write),
    (BACKUP, backup),
    ("X.update", update_file),
    ("rename onto", rename_onto),
    ("edit", edit),
    (FSYNC, fsync),
    (".ddb/api/PutItem", api_file),
    ("X.patch", patch),
];
/// A creation by it shows before its text; and the kernel caches for a moment the emptiness that it
/// requests by O_TRUNC.
const WRITE: &str = "write";
const FSYNC: &str = "fsync";
/// The name is absent in between.
const BACKUP: &str = "the old one moved aside";
const DELETES: [(&str, Delete); 4] = [
    ("DeleteItem", delete_item),
    ("ExecuteStatement", statement),
    ("unlink", unlink),
    ("rm", rm),
];
const SEVERAL: [(&str, Several); 5] = [
    ("BatchWriteItem", batch_write),
    ("TransactWriteItems", transact),
    ("batch/put and batch/delete", batch_files),
    (".ddb/transact", transact_file),
    (LOAD, load),
];
pub const LOAD: &str = "ddbfs load";
const RENAME: &str = "rename";
const COPY: &str = "copy";
const RENAME_FOLDER: &str = "rename of a folder";
const REMOVE_FOLDER: &str = "rm -r of a folder";

/// Returns every way to write items, for the check that all were used.
pub fn ways() -> Vec<&'static str> {
    let puts = PUTS
        .iter()
        .map(|way| way.0)
        .chain(DELETES.iter().map(|way| way.0))
        .chain(SEVERAL.iter().map(|way| way.0));
    puts.chain([
        RENAME,
        COPY,
        RENAME_FOLDER,
        REMOVE_FOLDER,
        "time to live",
        "CreateTable",
        "DeleteTable",
        "index built",
        "index dropped",
        "mkdir",
        "rmdir",
    ])
    .collect()
}

/// Writes items, each in a random way.
pub fn items(field: &Field, thread: u64) {
    let (mut numbers, pulse) = (field.numbers(thread), field.pulse("writer"));
    let shared: Vec<&Name> = field
        .names
        .iter()
        .filter(|name| name.is_item() && name.pk().starts_with(['s', 'u']))
        .collect();
    while !field.ended() {
        pulse.beat();
        let at = |numbers: &mut Numbers| numbers.below(shared.len() as u64) as usize;
        let (one, other) = (at(&mut numbers), at(&mut numbers));
        match numbers.below(10) {
            0 => several(field, &mut numbers, &shared),
            1 | 2 if one < other => rename(field, &mut numbers, shared[one], shared[other]),
            _ => single(field, &mut numbers, shared[one]),
        }
        // Every other time there is a pause in which readers find cached entries.
        if numbers.percent(50) {
            moment(field.pause().mul_f64(numbers.below(1_000) as f64 / 1e3));
        }
    }
    pulse.rest();
}

fn single(field: &Field, numbers: &mut Numbers, name: &Name) {
    let Some(mut taken) = name.take() else { return };
    if taken.item().is_some() && numbers.percent(30) {
        let (way, delete) = DELETES[numbers.below(DELETES.len() as u64) as usize];
        taken.begin(way, State::ABSENT);
        let ended = delete(field, numbers, name);
        finish(field, numbers, &mut taken, way, ended, None);
    } else {
        let (way, put) = PUTS[numbers.below(PUTS.len() as u64) as usize];
        let item = taken.next(numbers.below(BUCKETS));
        match way {
            WRITE | FSYNC => taken.begin(way, State::EMPTY),
            BACKUP => {
                taken.begin(way, State::ABSENT);
                taken.begin(way, State::EMPTY);
            }
            _ => {}
        }
        taken.begin(way, State::of(name, Some(&item)));
        let ended = put(field, numbers, name, &item);
        finish(field, numbers, &mut taken, way, ended, Some(item));
    }
}

/// Finishes a write: it was acknowledged; after a failure it is in doubt until HTTP has repeated
/// it.
fn finish(
    field: &Field,
    numbers: &mut Numbers,
    taken: &mut Taken<'_>,
    way: &'static str,
    ended: io::Result<()>,
    item: Option<Item>,
) {
    match ended {
        Ok(()) => field.wrote(way),
        Err(error) => {
            field.refused(way, &error);
            settle(field, numbers, taken.name(), item.as_ref());
        }
    }
    taken.acknowledge(item);
}

fn settle(field: &Field, numbers: &mut Numbers, name: &Name, item: Option<&Item>) {
    match item {
        Some(item) => field.insist(numbers, "PutItem", &put_body(name, item), ""),
        None => field.insist(numbers, "DeleteItem", &key_body(name), ""),
    };
}

/// Writes several different items of one table, some of them deletions.
fn several(field: &Field, numbers: &mut Numbers, shared: &[&Name]) {
    let (way, write) = SEVERAL[numbers.below(SEVERAL.len() as u64) as usize];
    // While it runs the mount is not alone.
    if way == LOAD && (field.is_alone() || !numbers.percent(3)) {
        return;
    }
    let table = numbers.one(&["Flat", "Orders"]);
    let mut taken: Vec<Taken<'_>> = Vec::new();
    for name in shared.iter().filter(|name| name.table == table) {
        if taken.len() < 4
            && numbers.percent(40)
            && let Some(name) = name.take()
        {
            taken.push(name);
        }
    }
    if taken.is_empty() {
        return;
    }
    let deletes = way != LOAD;
    let items: Vec<Option<Item>> = taken
        .iter()
        .map(|taken| (!deletes || numbers.percent(70)).then(|| taken.next(numbers.below(BUCKETS))))
        .collect();
    let changes: Vec<(&Name, Option<Item>)> = taken
        .iter()
        .map(Taken::name)
        .zip(items.iter().copied())
        .collect();
    for (taken, item) in taken.iter_mut().zip(&items) {
        taken.begin(way, State::of(taken.name(), item.as_ref()));
    }
    match write(field, numbers, &changes) {
        Ok(()) => field.wrote(way),
        Err(error) => {
            field.refused(way, &error);
            changes
                .iter()
                .for_each(|(name, item)| settle(field, numbers, name, item.as_ref()));
        }
    }
    taken
        .iter_mut()
        .zip(items)
        .for_each(|(taken, item)| taken.acknowledge(item));
}

/// Moves an item to another key of its table, within a collection or to another, or copies it
/// there.
fn rename(field: &Field, numbers: &mut Numbers, one: &Name, other: &Name) {
    let (Some(one), Some(other)) = (one.take(), other.take()) else {
        return;
    };
    if one.name().table != other.name().table {
        return;
    }
    let (mut from, mut to) = if numbers.percent(50) {
        (one, other)
    } else {
        (other, one)
    };
    let Some(item) = from.item() else { return };
    let way = if numbers.percent(70) { RENAME } else { COPY };
    let (source, target) = (field.path(&from.name().path), field.path(&to.name().path));
    let left = if way == COPY { Some(item) } else { None };
    if way == RENAME {
        from.begin(way, State::ABSENT);
    } else {
        to.begin(way, State::EMPTY);
    }
    to.begin(way, State::of(to.name(), Some(&item)));
    match if way == RENAME {
        fs::rename(source, target)
    } else {
        fs::copy(source, target).map(drop)
    } {
        Ok(()) => field.wrote(way),
        Err(error) => {
            field.refused(way, &error);
            settle(field, numbers, from.name(), left.as_ref());
            settle(field, numbers, to.name(), Some(&item));
        }
    }
    from.acknowledge(left);
    to.acknowledge(Some(item));
}

// ---- one item by HTTP ---------------------------------------------------------------------------------------------------------

fn put_body(name: &Name, item: &Item) -> Value {
    json!({"TableName": name.table, "Item": name.api_item(item)})
}

fn key_body(name: &Name) -> Value {
    json!({"TableName": name.table, "Key": name.api_key()})
}

fn put_item(field: &Field, numbers: &mut Numbers, name: &Name, item: &Item) -> io::Result<()> {
    field
        .call(numbers, "PutItem", &put_body(name, item))
        .map(drop)
}

fn update_item(field: &Field, numbers: &mut Numbers, name: &Name, item: &Item) -> io::Result<()> {
    let of = name.api_item(item);
    let mut body = key_body(name);
    body["UpdateExpression"] = json!("SET b = :b, n = :n, #pad = :pad");
    body["ExpressionAttributeNames"] = json!({"#pad": "pad"});
    body["ExpressionAttributeValues"] = json!({":b": of["b"], ":n": of["n"], ":pad": of["pad"]});
    field.call(numbers, "UpdateItem", &body).map(drop)
}

fn delete_item(field: &Field, numbers: &mut Numbers, name: &Name) -> io::Result<()> {
    field.call(numbers, "DeleteItem", &key_body(name)).map(drop)
}

fn statement(field: &Field, numbers: &mut Numbers, name: &Name) -> io::Result<()> {
    let text = format!("DELETE FROM \"{}\" WHERE {}", name.table, name.condition());
    field
        .call(numbers, "ExecuteStatement", &json!({"Statement": text}))
        .map(drop)
}

// ---- one item through the mount
// -----------------------------------------------------------------------------------------------

fn write(field: &Field, _: &mut Numbers, name: &Name, item: &Item) -> io::Result<()> {
    fs::write(field.path(&name.path), name.text(item))
}

fn fsync(field: &Field, _: &mut Numbers, name: &Name, item: &Item) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(field.path(&name.path))?;
    file.write_all(name.text(item).as_bytes())?;
    file.sync_all()
}

/// Overwrites and truncates the old text, as editors do in place.
fn edit(field: &Field, _: &mut Numbers, name: &Name, item: &Item) -> io::Result<()> {
    let text = name.text(item);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(field.path(&name.path))?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)?;
    file.sync_all()
}

fn rename_onto(field: &Field, _: &mut Numbers, name: &Name, item: &Item) -> io::Result<()> {
    let path = field.path(&name.path);
    let temporary = path.with_file_name(format!(".{}.new", name.file()));
    fs::write(&temporary, name.text(item))?;
    fs::rename(temporary, path)
}

fn backup(field: &Field, numbers: &mut Numbers, name: &Name, item: &Item) -> io::Result<()> {
    let path = field.path(&name.path);
    fs::rename(&path, path.with_extension("json~"))?;
    write(field, numbers, name, item)
}

fn update_file(field: &Field, _: &mut Numbers, name: &Name, item: &Item) -> io::Result<()> {
    let of: Value = serde_json::from_str(&name.text(item))?;
    fs::write(
        field.path(name.path.replace(".json", ".update")),
        format!(
            "SET b = {}, n = {}, pad = {}\n",
            of["b"], of["n"], of["pad"]
        ),
    )
}

fn patch(field: &Field, _: &mut Numbers, name: &Name, item: &Item) -> io::Result<()> {
    fs::write(
        field.path(name.path.replace(".json", ".patch")),
        name.text(item),
    )
}

fn api_file(field: &Field, _: &mut Numbers, name: &Name, item: &Item) -> io::Result<()> {
    fs::write(
        field.path(".ddb/api/PutItem"),
        put_body(name, item).to_string(),
    )
}

fn unlink(field: &Field, _: &mut Numbers, name: &Name) -> io::Result<()> {
    fs::remove_file(field.path(&name.path))
}

/// Removes it by another process.
fn rm(field: &Field, _: &mut Numbers, name: &Name) -> io::Result<()> {
    let status = std::process::Command::new("rm")
        .arg(field.path(&name.path))
        .stderr(std::process::Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other("rm"))
    }
}

// ---- several items ------------------------------------------------------------------------------------------------------------

fn batch_write(
    field: &Field,
    numbers: &mut Numbers,
    changes: &[(&Name, Option<Item>)],
) -> io::Result<()> {
    let requests: Vec<Value> = changes
        .iter()
        .map(|(name, item)| match item {
            Some(item) => json!({"PutRequest": {"Item": name.api_item(item)}}),
            None => json!({"DeleteRequest": {"Key": name.api_key()}}),
        })
        .collect();
    let answer = field.call(
        numbers,
        "BatchWriteItem",
        &json!({"RequestItems": {changes[0].0.table: requests}}),
    )?;
    if answer["UnprocessedItems"] == json!({}) {
        Ok(())
    } else {
        Err(io::Error::other("unprocessed"))
    }
}

fn transaction(changes: &[(&Name, Option<Item>)]) -> Value {
    let actions = changes.iter().map(|(name, item)| match item {
        Some(item) => json!({"Put": put_body(name, item)}),
        None => json!({"Delete": key_body(name)}),
    });
    json!({"TransactItems": actions.collect::<Vec<_>>()})
}

fn transact(
    field: &Field,
    numbers: &mut Numbers,
    changes: &[(&Name, Option<Item>)],
) -> io::Result<()> {
    field
        .call(numbers, "TransactWriteItems", &transaction(changes))
        .map(drop)
}

fn transact_file(
    field: &Field,
    _: &mut Numbers,
    changes: &[(&Name, Option<Item>)],
) -> io::Result<()> {
    fs::write(
        field.path(".ddb/transact"),
        transaction(changes).to_string(),
    )
}

fn batch_files(
    field: &Field,
    _: &mut Numbers,
    changes: &[(&Name, Option<Item>)],
) -> io::Result<()> {
    let batch = field.path(changes[0].0.table).join("batch");
    let puts: String = changes
        .iter()
        .filter_map(|(name, item)| item.map(|item| name.text(&item)))
        .collect();
    let deletes: String = changes
        .iter()
        .filter(|change| change.1.is_none())
        .map(|(name, _)| name.key_line())
        .collect();
    for (file, lines) in [("put", puts), ("delete", deletes)] {
        if !lines.is_empty() {
            fs::write(batch.join(file), lines)?;
        }
    }
    Ok(())
}

/// Writes by a process that has the data directory open meanwhile.
fn load(field: &Field, _: &mut Numbers, changes: &[(&Name, Option<Item>)]) -> io::Result<()> {
    let lines: String = changes
        .iter()
        .filter_map(|(name, item)| item.map(|item| name.text(&item)))
        .collect();
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(lines.as_bytes())?;
    let mut command = std::process::Command::new(DDBFS);
    command
        .arg("load")
        .arg("--data")
        .arg(&field.data)
        .arg(changes[0].0.table)
        .arg(file.path());
    let output = command.output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ))
    }
}

// ---- names with a writer of their own
// -------------------------------------------------------------------------------------------

/// Writes items that expire soon: the sweep deletes them at any time. No call waits for that, so
/// that the API may show it before the kernel's cache is invalidated; once the mount has shown it,
/// no reader may see them any more.
pub fn expiry(field: &Field, thread: u64) {
    let (mut numbers, pulse) = (field.numbers(thread), field.pulse("expiry"));
    let names: Vec<&Name> = field
        .names
        .iter()
        .filter(|name| name.path.starts_with("Flat/items/e"))
        .collect();
    while !field.ended() {
        let mut waiting: Vec<Taken<'_>> = names.iter().filter_map(|name| name.take()).collect();
        for taken in &mut waiting {
            pulse.beat();
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap()
                .as_secs();
            let item = Item {
                expires: Some(now - 10 + numbers.below(12)),
                ..taken.next(numbers.below(BUCKETS))
            };
            taken.begin("PutItem", State::of(taken.name(), Some(&item)));
            taken.begin("time to live", State::ABSENT);
            settle(field, &mut numbers, taken.name(), Some(&item));
            taken.acknowledge_but_last();
        }
        while waiting
            .iter()
            .any(|taken| is_there(field, &mut numbers, taken.name()))
            && !field.ended()
        {
            pulse.beat();
            moment(Duration::from_millis(20));
        }
        // Not while the mount is away, which then has no files.
        let shows = |taken: &Taken<'_>| {
            let life = field.life();
            fs::metadata(field.path(&taken.name().path)).is_ok() || !field.is_up_since(life)
        };
        while waiting.iter().any(&shows) && !field.ended() {
            moment(Duration::from_millis(1));
        }
        pulse.rest();
        if !field.ended() {
            waiting.iter_mut().for_each(|taken| taken.acknowledge(None));
            field.wrote("time to live");
        }
    }
    pulse.rest();
}

fn is_there(field: &Field, numbers: &mut Numbers, name: &Name) -> bool {
    !field.insist(numbers, "GetItem", &key_body(name), "")["Item"].is_null()
}

/// Makes and drops a table with two items.
pub fn tables(field: &Field, thread: u64) {
    let (mut numbers, pulse) = (field.numbers(thread), field.pulse("tables"));
    let items: Vec<&Name> = field
        .names
        .iter()
        .filter(|name| name.is_item() && name.table == "Coming")
        .collect();
    let mut table = field.named("Coming").take().unwrap();
    while !field.ended() {
        pulse.beat();
        table.begin("CreateTable", State::THERE);
        field.insist(
            &mut numbers,
            "CreateTable",
            &definition("Coming", false),
            "ResourceInUse",
        );
        while field.insist(
            &mut numbers,
            "DescribeTable",
            &json!({"TableName": "Coming"}),
            "",
        )["Table"]["TableStatus"]
            != "ACTIVE"
        {}
        table.acknowledge(None);
        field.wrote("CreateTable");
        for name in &items {
            let mut taken = name.take().unwrap();
            let item = taken.next(0);
            taken.begin("PutItem", State::of(name, Some(&item)));
            settle(field, &mut numbers, name, Some(&item));
            taken.acknowledge(Some(item));
        }
        field.goes_on_for(Duration::from_millis(numbers.below(100)));
        pulse.beat();
        let mut taken: Vec<Taken<'_>> = items.iter().map(|name| name.take().unwrap()).collect();
        taken
            .iter_mut()
            .chain([&mut table])
            .for_each(|taken| taken.begin("DeleteTable", State::ABSENT));
        // Now and then through the mount, which drops it only without items.
        if numbers.percent(50) {
            items
                .iter()
                .for_each(|name| settle(field, &mut numbers, name, None));
            let _ = fs::remove_dir(field.path("Coming"));
        }
        field.insist(
            &mut numbers,
            "DeleteTable",
            &json!({"TableName": "Coming"}),
            "ResourceNotFound",
        );
        let gone = json!({"TableName": "Coming"});
        while !field
            .insist(&mut numbers, "DescribeTable", &gone, "ResourceNotFound")
            .is_null()
        {}
        taken
            .iter_mut()
            .chain([&mut table])
            .for_each(|taken| taken.acknowledge(None));
        field.wrote("DeleteTable");
        field.goes_on_for(Duration::from_millis(numbers.below(100)));
    }
    pulse.rest();
}

/// Builds and drops an index.
pub fn indexes(field: &Field, thread: u64) {
    let (mut numbers, pulse) = (field.numbers(thread), field.pulse("indexes"));
    let mut index = field.named("Flat/gsi/by-x").take().unwrap();
    let create = json!({"TableName": "Flat", "AttributeDefinitions": [{"AttributeName": "b", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "by-x",
            "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}], "Projection": {"ProjectionType": "KEYS_ONLY"}}}]});
    let drop = json!({"TableName": "Flat", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-x"}}]});
    while !field.ended() {
        pulse.beat();
        index.begin("index built", State::THERE);
        field.insist(&mut numbers, "UpdateTable", &create, "already exists");
        while status(field, &mut numbers, "by-x").as_deref() != Some("ACTIVE") {
            moment(Duration::from_millis(2));
        }
        index.acknowledge(None);
        field.wrote("index built");
        field.goes_on_for(Duration::from_millis(numbers.below(150)));
        pulse.beat();
        index.begin("index dropped", State::ABSENT);
        field.insist(&mut numbers, "UpdateTable", &drop, "ResourceNotFound");
        while status(field, &mut numbers, "by-x").is_some() {
            moment(Duration::from_millis(2));
        }
        index.acknowledge(None);
        field.wrote("index dropped");
        field.goes_on_for(Duration::from_millis(numbers.below(150)));
    }
    pulse.rest();
}

fn status(field: &Field, numbers: &mut Numbers, index: &str) -> Option<String> {
    let table = field.insist(numbers, "DescribeTable", &json!({"TableName": "Flat"}), "");
    let indexes = table["Table"]["GlobalSecondaryIndexes"].as_array()?.clone();
    let found = indexes
        .into_iter()
        .find(|found| found["IndexName"] == index)?;
    found["IndexStatus"].as_str().map(str::to_owned)
}

/// Writes folders of one item: made and removed through the mount; that come and go with their
/// item; renamed.
pub fn folders(field: &Field, thread: u64) {
    let (mut numbers, pulse) = (field.numbers(thread), field.pulse("folders"));
    let (made, found) = (
        field.named("Orders/items/f0"),
        field.named("Orders/items/f1"),
    );
    let item = |folder: &str| json!({"pk": {"S": folder}, "sk": {"S": "x"}});
    while !field.ended() {
        pulse.beat();
        let mut taken = made.take().unwrap();
        // Until its first item it belongs to the daemon alone.
        taken.begin(
            "mkdir",
            if field.kills {
                State::THERE.or_absent()
            } else {
                State::THERE
            },
        );
        if fs::create_dir(field.path(&made.path)).is_ok() {
            taken.acknowledge(None);
            field.wrote("mkdir");
        }
        field.insist(
            &mut numbers,
            "PutItem",
            &json!({"TableName": "Orders", "Item": item("f0")}),
            "",
        );
        field.insist(
            &mut numbers,
            "DeleteItem",
            &json!({"TableName": "Orders", "Key": item("f0")}),
            "",
        );
        taken.begin(
            "rmdir",
            if field.kills {
                State::THERE.or_absent()
            } else {
                State::ABSENT
            },
        );
        if fs::remove_dir(field.path(&made.path)).is_ok() {
            taken.acknowledge(None);
            field.wrote("rmdir");
        }
        let mut taken = found.take().unwrap();
        taken.begin("PutItem", State::THERE);
        field.insist(
            &mut numbers,
            "PutItem",
            &json!({"TableName": "Orders", "Item": item("f1")}),
            "",
        );
        taken.acknowledge(None);
        moment(Duration::from_micros(numbers.below(5_000)));
        taken.begin("DeleteItem", State::ABSENT);
        field.insist(
            &mut numbers,
            "DeleteItem",
            &json!({"TableName": "Orders", "Key": item("f1")}),
            "",
        );
        taken.acknowledge(None);
        moment(Duration::from_micros(numbers.below(5_000)));
        rename_folder(field, &mut numbers);
        remake_folder(field, &mut numbers);
    }
    pulse.rest();
}

/// Removes a folder with its item, and makes it again: by the mount, or by an item that another
/// front end puts.
fn remake_folder(field: &Field, numbers: &mut Numbers) {
    let mut item = field
        .named(&format!("Orders/items/{REMADE}/x.json"))
        .take()
        .unwrap();
    let folder = field.path(item.name().parent());
    if numbers.percent(50) {
        let _ = fs::create_dir(&folder);
    }
    let next = item.next(0);
    item.begin("PutItem", State::of(item.name(), Some(&next)));
    settle(field, numbers, item.name(), Some(&next));
    item.acknowledge(Some(next));
    moment(Duration::from_micros(numbers.below(5_000)));
    item.begin(REMOVE_FOLDER, State::ABSENT);
    match fs::remove_dir_all(&folder) {
        Ok(()) => field.wrote(REMOVE_FOLDER),
        Err(error) => {
            field.refused(REMOVE_FOLDER, &error);
            settle(field, numbers, item.name(), None);
        }
    }
    item.acknowledge(None);
}

/// Moves the only item of a folder, and the folder with it.
fn rename_folder(field: &Field, numbers: &mut Numbers) {
    let pair = if numbers.percent(50) {
        (MOVING[0], MOVING[1])
    } else {
        (MOVING[1], MOVING[0])
    };
    let of = |folder: &str| format!("Orders/items/{folder}");
    let [mut from, mut to] = [pair.0, pair.1].map(|folder| {
        field
            .named(&format!("{}/x.json", of(folder)))
            .take()
            .unwrap()
    });
    let item = from.next(0);
    // A folder stays after its last item.
    for (taken, item) in [(&mut to, None), (&mut from, Some(item))] {
        taken.begin("PutItem", State::of(taken.name(), item.as_ref()));
        settle(field, numbers, taken.name(), item.as_ref());
        taken.acknowledge(item);
    }
    let _ = fs::remove_dir(field.path(of(pair.1)));
    moment(Duration::from_micros(numbers.below(5_000)));
    from.begin(RENAME_FOLDER, State::ABSENT);
    to.begin(RENAME_FOLDER, State::of(to.name(), Some(&item)));
    match fs::rename(field.path(of(pair.0)), field.path(of(pair.1))) {
        Ok(()) => field.wrote(RENAME_FOLDER),
        Err(error) => {
            field.refused(RENAME_FOLDER, &error);
            settle(field, numbers, from.name(), None);
            settle(field, numbers, to.name(), Some(&item));
        }
    }
    from.acknowledge(None);
    to.acknowledge(Some(item));
}
