//! ddbfs: mount a DynamoDB-compatible database and work with it as files.
//!
//! # Layers
//!
//! Imports point only downward in this list; `tests/tidy/main.rs` holds it.
//!
//! ```text
//! cli/      commands, exit codes, progress; main.rs only calls it
//! fuse/     the FUSE shell: convert, call fs, reply; mounting and unmounting
//! http/     the server of the DynamoDB JSON protocol: routing, limits, signatures
//! fs/       the filesystem view: path -> Node -> bytes, bytes -> request; fs::error makes an error an errno. Knows no fuser
//! inspect/  what can be told of a table through the operations alone: violations, advice, sharded keys
//! protocol/ an operation's name and JSON body -> a call on Database -> a JSON body; protocol::error_body makes an error one
//! database/ trait Database, which starts any operation; trait Browse, what a filesystem asks beside them; LocalDatabase, the engine as both;
//!           remote/, another service as both: the wire the other way, over any transport
//! engine/   operations (ops/, one file each) on a catalog, item writes, indexes, streams, time to live, backups
//! store/    ordered bytes with snapshots and atomic durable batches: LMDB, and memory for tests
//! expr/     expressions: lexer, parser, resolved forms, evaluation; nothing unresolved can be evaluated
//! codec/    ordered keys, item records, plain JSON, DynamoDB JSON, file names, the wire's forms (wire/, a file a family of operations)
//! model/    values, numbers, items, schemas, typed requests and responses (api/), limits, errors by family
//! ```
//!
//! Inside `fs/`, from the top; the same holds there:
//!
//! ```text
//! view/     a method a system call        special/  files beside the data    mount/  the database, and memory beside it
//! tree/     chooses by a node's kind      source/   data as files            node/   what a path means, plain data
//! open/     open files, what they ask     write/    texts to requests        query/  clauses to requests     path/   names
//! ```
//!
//! Inside `engine/`, from the top; `engine/mod.rs` says it of each room:
//!
//! ```text
//! open         format, what was left undone   ops/       an operation a file             check/        everything recomputed
//! background/  rounds beside the requests     jobs/      copies in pieces                statements/   PartiQL
//! write/       one item's change              read/      Query and Scan pages            index_life/   indexes made and dropped
//! streams/ time_to_live  index_lag  history parked purge tokens table_states             a feature each, beside each other
//! runtime/     transactions, views, threads   meter/     what was consumed               partitions/   the model, throttle
//! account/     backups, jobs as records       catalog/   tables as plain data            base/         keys, counters, the clock
//! ```
//!
//! # One vocabulary
//!
//! The HTTP front end and the filesystem speak the same typed requests, [`model::api`], named as in the DynamoDB API. A wire form is
//! checked and converted once, in [`codec::wire`]; a typed request is well formed. Front ends hold a `dyn Database` or `dyn Browse`, never
//! the engine. A *document path* is `a.b[0]`; a *filesystem path* is one of the mount.
//!
//! # The life of a write
//!
//! A file is written: [`fs::write`] follows the JSON byte by byte and, in the `write()` that completes the object, makes a PutItem of it.
//! The operation parses what needs no table, and hands a job to the store's one writer thread. That runs all queued jobs in one transaction:
//! each reads the catalog and the old record, evaluates its condition, and only then writes the item, every index entry, the item collection,
//! the stream record and the counters. What the transaction did becomes one record of a log; one sync of it makes all durable together, and
//! LMDB commits without a sync. Then each caller hears, on the writer thread, and the FUSE reply goes out from there. A job that refuses has
//! written nothing.
//!
//! # The life of a read
//!
//! One request, one short snapshot, results copied out. Records carry their sizes, version and time in the header, so that stat decodes
//! nothing, and are rendered to JSON without building items. The kernel keeps names and attributes of items,
//! and is told that they end before a change is acknowledged ([`fs::view`]), so that a commit of any front end or process shows in the next
//! system call.
//!
//! # The store
//!
//! A key is a space byte, a source id (a table or an index), the 128-bit digest of the partition key, and the sort key in ordered bytes
//! ([`engine::keys`], [`codec::key`]). Digest order is hash order: Scan, parallel segments and directory listings follow it. LMDB takes keys of 511 bytes;
//! [`store::long_key`] makes longer ones a chain without losing their order. LMDB's file reaches the disk by checkpoints, each of which pins its
//! commit with a read transaction; after a power cut the store is that commit and the records of the log behind it (`docs/reliability.md`).
//!
//! # Where new things go
//!
//! An operation: its request and answer, declared a member a line, and its row, all in its family's file in `model/api/`; what the lines do not
//! say of its wire form in `codec/wire/`, what it does in `engine/ops/` under the row's name. HTTP, the mount's `.ddb/api/` and clients of other
//! services have it by that. A derived file of the mount: a row of `fs/special/derived.rs` and a function in
//! `fs/special/`; anything else beside the data: a type with [`fs::open::node_ops::NodeOps`] in one file there, and a row of its directory's
//! names; a node of data: the same in `fs/source/`, and its line in `fs/tree/mod.rs`. A clause of query paths: a row of `fs/query/clause.rs`, a result: of
//! `ResultKind` in `fs/query/path.rs`. A kind of thing in the store: a variant of
//! `engine::keys::StoreKey`, and its part of `engine/check/`. `CONTRIBUTING.md` has each step by step; `docs/` says what must be true, and what it is
//! like: how a put travels, how a query path becomes a read, keys and records, the life of an index, the partition model.

#![cfg_attr(test, allow(clippy::cast_possible_truncation))]
// A reader that has seen enough is no failure, and nothing of others reaches a terminal as it is: `cli::outcome` prints.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

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
