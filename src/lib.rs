//! ddbfs: mount a DynamoDB-compatible database and work with it as files.
//!
//! # Layers
//!
//! Imports point only downward in this list; `tests/tidy/main.rs` checks it.
//!
//! ```text
//! cli/      commands, exit codes, progress; main.rs only calls it
//! fuse/     the FUSE shell: convert, call fs, reply; mounting and unmounting
//! http/     the server of the DynamoDB JSON protocol: routing, limits, signatures
//! fs/       the filesystem view: path -> Node -> bytes, bytes -> request; fs::error converts an error to an errno. Independent of fuser
//! inspect/  reports on a table made from operations alone: violations, advice, sharded keys
//! protocol/ an operation's name and JSON body -> a call on Database -> a JSON body; protocol::error_body converts errors
//! database/ trait Database, which starts any operation; trait Browse, the further calls of a filesystem; LocalDatabase, the engine as both;
//!           remote/, a remote service as both, over any transport
//! engine/   operations (ops/, one file each) on a catalog, item writes, indexes, streams, time to live, backups
//! store/    ordered bytes with snapshots and atomic durable batches: LMDB behind a write-ahead log, and memory for tests
//! expr/     expressions: lexer, parser, resolved forms, evaluation; only a resolved expression can be evaluated
//! codec/    ordered keys, item records, plain JSON, DynamoDB JSON, file names, wire forms (wire/, one file a family of operations)
//! model/    values, numbers, items, schemas, typed requests and responses (api/), limits, errors by family
//! ```
//!
//! Inside `fs/`, from the top, with the same rule:
//!
//! ```text
//! view/     a method a system call        special/  files beside the data        mount/  the database, with caches and logs
//! tree/     dispatch on a node's kind     source/   data as files                node/   the meaning of a path, plain data
//! open/     open files                    write/    file contents to requests    query/  clauses to requests     path/   names
//! ```
//!
//! Inside `engine/`, from the top; the head of `engine/mod.rs` describes each:
//!
//! ```text
//! open         format, unfinished work       ops/       an operation a file           check/        everything recomputed
//! background/  periodic work                 jobs/      copies in batches             statements/   PartiQL
//! write/       one item's change             read/      Query and Scan pages          index_life/   indexes created and deleted
//! streams/ time_to_live index_lag history trash purge idempotency table_states        features, independent of each other
//! runtime/     transactions, views, threads  meter/     consumed capacity             partitions/   the partition model, throttling
//! account/     backups, jobs as records      catalog/   tables as plain data          base/         keys, counters, the clock
//! ```
//!
//! # One vocabulary
//!
//! The HTTP front end and the filesystem use the same typed requests, [`model::api`], named as in the
//! DynamoDB API. A wire form is checked and converted once, in [`codec::wire`]; a typed request is well
//! formed. Front ends hold a `dyn Database` or `dyn Browse`, never the engine. A *document path* is
//! `a.b[0]`; a *filesystem path* is a path in the mount.
//!
//! # Glossary
//!
//! - casjson: put conditional on a version
//! - draft: table before creation
//! - scratch file: only in memory
//! - query path: a query as a path
//! - derived file: computed, read-only
//! - control file: takes commands
//! - echo: write by `>`
//! - veto: refusal, overridden by repeating
//!
//! # The path of a write
//!
//! A file is written: [`fs::write`] parses the JSON byte by byte and, in the `write()` that completes the
//! object, makes a PutItem of it. The operation checks everything that needs no table, and submits a job
//! to the store. A writer that is alone commits on its own thread; otherwise the store's one writer thread
//! runs all queued jobs in one transaction. Each job reads the catalog and the old record, evaluates its
//! condition, and only then writes the item, every index entry, the item collection, the stream record and
//! the counters. The changes of the transaction become one record of the write-ahead log; one sync of it
//! makes them all durable together, and LMDB commits without a sync. Then each job is completed on the
//! committing thread, which sends the FUSE reply. A job that fails has written nothing.
//!
//! # The path of a read
//!
//! One request, one short snapshot, results copied out. Records have their size, version and time in the
//! header, so that stat decodes nothing, and are rendered to JSON without building items. The kernel
//! caches names and attributes of items and index entries; they are invalidated before a change is acknowledged
//! ([`fs::view`]), so that a commit of any front end or process shows in the next system call.
//!
//! # The store
//!
//! A key is a space byte, a source id (a table or an index), the 128-bit digest of the partition key, and
//! the sort key in ordered bytes ([`engine::keys`], [`codec::key`]). Digest order is hash order: Scan,
//! parallel segments and directory listings follow it. LMDB takes keys of 511 bytes;
//! [`store::long_key`] makes longer ones a chain without losing their order. LMDB's file reaches the disk
//! by checkpoints, each of which pins its commit with a read transaction; after a power cut the store is
//! that commit and the log records after it (`docs/reliability.md`).
//!
//! # Where to add things
//!
//! - An operation: its request and response, declared a member a line, and its row, all in its family's
//!   file in `model/api/`; the rest of its wire form in `codec/wire/`, its implementation in
//!   `engine/ops/` under the row's name. HTTP, the mount's `.ddb/api/` and remote clients have it then.
//! - A derived file of the mount: a row of `fs/special/derived.rs` and a function in `fs/special/`.
//! - Any other file beside the data: a type with [`fs::open::node_ops::NodeOps`] in one file there, and
//!   a row of its directory's names.
//! - A node of data: the same in `fs/source/`, and its line in `fs/tree/mod.rs`.
//! - A clause of query paths: a row of `fs/query/clause.rs`. A result: of `ResultKind`.
//! - A kind of store entry: a variant of `engine::keys::StoreKey`, and its part of `engine/check/`.
//!
//! `CONTRIBUTING.md` has each step by step. `docs/` has the semantics and the design: the path of a put,
//! query paths, keys and records, the life of an index, the partition model.

#![cfg_attr(test, allow(clippy::cast_possible_truncation))]
// `cli::exit` prints: a reader that ends early is no failure, and no control characters reach a terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

/// Implements `Debug` by the name alone, for types that hold functions, services or secrets.
macro_rules! opaque_debug {
    ($($type:ident $(<$lifetime:lifetime>)?),+) => {
        $(impl std::fmt::Debug for $type $(<$lifetime>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($type))
            }
        })+
    };
}

pub mod cli;
pub mod codec;
pub mod database;
pub mod engine;
pub mod expr;
pub mod fs;
pub mod fuse;
pub mod http;
pub mod inspect;
pub mod model;
pub mod protocol;
pub mod store;
