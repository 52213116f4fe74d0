//! Shared parts of filesystem tests: a database in memory or on disk, a real mount of it, and shell
//! scripts in it.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use ddbfs::codec::json::document::Document;
use ddbfs::database::Browse;
use ddbfs::database::local::LocalDatabase;
use ddbfs::database::samples::sample_tables;
use ddbfs::engine::EngineOptions;
use ddbfs::fs::View;
use ddbfs::fs::view::ViewOptions;
use ddbfs::fuse::{EVENT_THREADS_REMOTE, MountOptions, Mounted, mount};
use ddbfs::model::api::{CreateTableRequest, PutItemRequest};
use ddbfs::model::{AttributeValue, Item, TableName};
use ddbfs::store::Store;
use ddbfs::store::lmdb::{LmdbOptions, LmdbStore};
use ddbfs::store::memory::MemoryStore;
use tempfile::TempDir;

use super::elsewhere::Server;

/// Creates a database in memory.
pub fn memory() -> Arc<LocalDatabase> {
    database(Arc::new(MemoryStore::new().unwrap()))
}

/// Opens a database in a directory.
pub fn on_disk(directory: &Path) -> Arc<LocalDatabase> {
    database(Arc::new(
        LmdbStore::open(directory, LmdbOptions::default()).unwrap(),
    ))
}

fn database(store: Arc<dyn Store>) -> Arc<LocalDatabase> {
    Arc::new(LocalDatabase::open(store, EngineOptions::default()).unwrap())
}

/// Creates a table from CreateTable's JSON.
pub fn create_table(db: &dyn Browse, json: &str) -> TableName {
    let json = serde_json::from_str(json).unwrap();
    let request: CreateTableRequest =
        ddbfs::codec::wire::request(Document::from_value(&json).root()).unwrap();
    let name = request.table_name.clone();
    db.create_table(request).unwrap();
    name
}

/// `Orders`: pk and sk are strings, GSI `by-status` on status and created.
pub const ORDERS: &str = r#"{
    "TableName": "Orders",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "status", "AttributeType": "S"}, {"AttributeName": "created", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [{
        "IndexName": "by-status",
        "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}, {"AttributeName": "created", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]}}],
    "BillingMode": "PAY_PER_REQUEST"
}"#;

/// `Flat`: a string partition key, no sort key.
pub const FLAT: &str = r#"{
    "TableName": "Flat",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST"
}"#;

/// Puts an item written as plain JSON.
pub fn put(db: &dyn Browse, table: &str, json: &str) {
    let item = ddbfs::codec::plain_json::parse(json.as_bytes()).unwrap();
    db.put_item(PutItemRequest::new(TableName::new(table).unwrap(), item))
        .unwrap();
}

/// Returns the item under a key written as plain JSON.
pub fn get(db: &dyn Browse, table: &str, key: &str) -> Option<Item> {
    let key = ddbfs::codec::plain_json::parse(key.as_bytes()).unwrap();
    let request = ddbfs::model::api::GetItemRequest::new(TableName::new(table).unwrap(), key);
    db.get_item(request).unwrap().item
}

/// Returns a string value.
pub fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// Loads the example tables with their data.
pub fn load_samples(db: &dyn Browse) {
    for (request, items) in sample_tables() {
        let table = request.table_name.clone();
        db.create_table(request).unwrap();
        for item in items {
            db.put_item(PutItemRequest::new(table.clone(), item))
                .unwrap();
        }
    }
}

/// Longer than an invalidation of the kernel's cache takes on any machine.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(20);

/// A real mount in a temporary directory, ended when dropped: of a local database, or of a remote
/// service with the same tables.
pub struct Mount {
    /// The mounted database.
    pub db: Arc<dyn Browse>,
    /// The local database.
    pub local: Arc<LocalDatabase>,
    mounted: Option<Mounted>,
    directory: TempDir,
    server: Option<Server>,
}

impl Mount {
    /// Mounts a database.
    pub fn of(db: Arc<LocalDatabase>) -> Self {
        Self::with(db, ViewOptions::default())
    }

    /// Mounts a database with options.
    pub fn with(db: Arc<LocalDatabase>, options: ViewOptions) -> Self {
        if let Some(server) = Server::wanted() {
            return Self::of_service(server, db, options);
        }
        let front = Arc::clone(&db) as Arc<dyn Browse>;
        Self::over(db, front, options, |mount| mount)
    }

    /// Mounts a service with the tables of a database.
    pub fn of_service(server: Server, local: Arc<LocalDatabase>, options: ViewOptions) -> Self {
        server.fill(&(Arc::clone(&local) as _));
        let db = server.database();
        let threads = |mount| MountOptions {
            event_threads: EVENT_THREADS_REMOTE,
            ..mount
        };
        let mount = Self::over(local, Arc::clone(&db), options, threads);
        Self {
            db,
            server: Some(server),
            ..mount
        }
    }

    /// Mounts a wrapper of a database.
    pub fn over(
        local: Arc<LocalDatabase>,
        front: Arc<dyn Browse>,
        options: ViewOptions,
        change: impl FnOnce(MountOptions) -> MountOptions,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let patient = MountOptions {
            notify_timeout: NOTIFY_TIMEOUT,
            ..MountOptions::new(directory.path())
        };
        let mounted = mount(&change(patient), View::new(front, options), || {}).unwrap();
        Self {
            db: Arc::clone(&local) as _,
            local,
            mounted: Some(mounted),
            directory,
            server: None,
        }
    }

    /// Mounts an empty database in memory with the tables `Orders` and `Flat`.
    pub fn with_tables() -> Self {
        let db = memory();
        create_table(&*db, ORDERS);
        create_table(&*db, FLAT);
        Self::of(db)
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn view(&self) -> &View {
        self.mounted.as_ref().unwrap().view()
    }

    /// Runs a bash script in the mount.
    pub fn sh(&self, script: &str) -> Ran {
        self.run_in(self.path(), script)
    }

    /// Runs a bash script in a session of its own.
    pub fn sh_in_new_session(&self, script: &str) -> Ran {
        let output = Command::new("setsid")
            .arg("--wait")
            .arg("bash")
            .arg("-c")
            .arg(script)
            .current_dir(self.path())
            .output();
        Ran::from(output.unwrap())
    }

    pub fn run_in(&self, directory: &Path, script: &str) -> Ran {
        // A limit against hangs: a walk over a service takes minutes on a busy machine.
        let output = Command::new("timeout")
            .args(["600", "bash", "-c", script])
            .current_dir(directory)
            .output();
        Ran::from(output.unwrap())
    }

    /// Unmounts, and mounts the same again.
    pub fn again(mut self) -> Self {
        self.mounted
            .take()
            .unwrap()
            .unmount(Duration::from_secs(60))
            .unwrap();
        let again = Self::over(
            self.local,
            Arc::clone(&self.db),
            ViewOptions::default(),
            |mount| mount,
        );
        Self {
            db: self.db,
            server: self.server,
            ..again
        }
    }

    /// Unmounts.
    pub fn end(mut self) {
        self.mounted
            .take()
            .unwrap()
            .unmount(Duration::from_secs(60))
            .unwrap();
    }
}

/// The result of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Returns the output of a script that succeeded with an empty stderr.
    #[track_caller]
    pub fn ok(&self) -> &str {
        assert!(self.status == 0 && self.err.is_empty(), "{self:#?}");
        &self.out
    }

    /// Returns the stderr of a script that failed.
    #[track_caller]
    pub fn failed(&self) -> &str {
        assert!(self.status != 0, "{self:#?}");
        &self.err
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
