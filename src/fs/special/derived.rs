//! Derived files, as the files of Linux's procfs: each is a text made from the database or the
//! mount, and perhaps takes commands. One row declares a file; the function of a row is in the
//! source file of its feature.

use super::{absence, expected, heat, info, schema, scratch, table_files};
use crate::codec::definitions::export;
use crate::codec::metrics::{capacity, cloudwatch, prometheus};
use crate::fs::{
    mount::text_cache::pretty_json,
    node::special::{Feature, ReadCost},
    open::{
        prelude::*,
        text::{FileCall, SpecialHandle},
    },
    path::names::item_path,
    process::session_of,
    source,
};
use crate::inspect::shapes;
use crate::model::metrics::Period::{Day, Hour, Minute};

/// Files in the directory of a table or a draft; listed if the mount shows all.
pub static TABLE_FILES: [DerivedFile; 18] = [
    DerivedFile::text("describe.json", table_files::describe),
    DerivedFile::text("schema.cfn.yaml", |mount, at| {
        table_files::exported(mount, at, export::cloudformation)
    }),
    DerivedFile::text("schema.tf", |mount, at| {
        table_files::exported(mount, at, export::terraform)
    }),
    DerivedFile::text("schema.workbench.json", |mount, at| {
        table_files::exported(mount, at, |definition| {
            format!("{:#}\n", export::workbench(definition))
        })
    }),
    DerivedFile::text("schema.plan", schema::plan_text)
        .in_drafts()
        .with_open(schema::open_plan),
    DerivedFile::text("ctl", |_, _| Ok(table_files::CTL_USAGE.into()))
        .in_drafts()
        .with_command(CommandThread::Long, table_files::run_command),
    DerivedFile::text("advice.md", table_files::advice).volatile(),
    DerivedFile::text("access.md", expected::report).volatile(),
    DerivedFile::text("access.expected", expected::text)
        .since_mount()
        .with_open(expected::open)
        .with_unlink(expected::unlink),
    DerivedFile::text("access.json", expected::json).since_mount(),
    DerivedFile::text("shapes.md", |mount, at| {
        Ok(
            shapes::markdown(&*mount.shapes.get(&*mount.db, at.try_table()?)?, item_path)
                .into_bytes(),
        )
    })
    .with_cost(ReadCost::Table),
    DerivedFile::text("shapes.json", |mount, at| {
        Ok(pretty_json(&shapes::json(
            &*mount.shapes.get(&*mount.db, at.try_table()?)?,
            item_path,
        )))
    })
    .with_cost(ReadCost::Table),
    DerivedFile::text("ttl", table_files::time_to_live)
        .with_command(CommandThread::Short, table_files::set_time_to_live),
    DerivedFile::text("capacity.json", |mount, at| {
        info::metrics(mount, at, |metrics, table, layout| {
            pretty_json(&capacity::render(metrics, table, layout.prices()))
        })
    })
    .since_mount(),
    DerivedFile::text("metrics.ndjson", |mount, at| {
        info::metrics(mount, at, |metrics, table, _| {
            cloudwatch::render(table, metrics.now_ms).into_bytes()
        })
    })
    .since_mount(),
    DerivedFile::text("heat.svg", |mount, at| heat::picture(mount, at, Minute)).volatile(),
    DerivedFile::text("heat.hour.svg", |mount, at| heat::picture(mount, at, Hour)).volatile(),
    DerivedFile::text("heat.day.svg", |mount, at| heat::picture(mount, at, Day)).volatile(),
];

/// Files in the directory of an index; listed if the mount shows all.
pub static INDEX_FILES: [DerivedFile; 3] = [
    DerivedFile::text("advice.md", table_files::advice).volatile(),
    DerivedFile::text("violations.ndjson", |mount, at| {
        absence::absences(at, |source, visit| mount.db.absences(source, true, visit))
    })
    .with_cost(ReadCost::Table),
    DerivedFile::text("missing.ndjson", |mount, at| {
        absence::absences(at, |source, visit| mount.db.absences(source, false, visit))
    })
    .with_cost(ReadCost::Table),
];

/// Files in `partitions/`, never listed.
pub static PARTITION_FILES: [DerivedFile; 8] = [
    DerivedFile::text("heat.tsv", |mount, at| heat::heat(mount, at, Minute)).volatile(),
    DerivedFile::text("heat.hour.tsv", |mount, at| heat::heat(mount, at, Hour)).volatile(),
    DerivedFile::text("heat.day.tsv", |mount, at| heat::heat(mount, at, Day)).volatile(),
    DerivedFile::text("hot.tsv", |mount, at| heat::hot(mount, at, Minute)).volatile(),
    DerivedFile::text("hot.hour.tsv", |mount, at| heat::hot(mount, at, Hour)).volatile(),
    DerivedFile::text("hot.day.tsv", |mount, at| heat::hot(mount, at, Day)).volatile(),
    DerivedFile::text("hot-items.tsv", heat::hot_items).volatile(),
    DerivedFile::text("big.tsv", heat::big).volatile(),
];

/// Files below `.ddb/`, by their paths; listed unless a row says otherwise.
pub static SERVICE_FILES: [DerivedFile; 15] = [
    // A remote mount refuses it, and a walk ends well there too.
    DerivedFile::text(".ddb/access.md", info::all_access).unlisted(),
    // A walk would have every table judged.
    DerivedFile::text(".ddb/advice.md", table_files::all_advice)
        .since_mount()
        .with_cost(ReadCost::Table)
        .unlisted(),
    DerivedFile::text(".ddb/capacity.json", info::capacity),
    DerivedFile::text(".ddb/config.json", info::config),
    DerivedFile::text(".ddb/ctl", |_, _| Ok(info::CTL_USAGE.into()))
        .with_command(CommandThread::Inline, info::control),
    DerivedFile::text(".ddb/errors/last", |mount, _| {
        Ok(mount
            .error_log
            .last(session_of(mount.caller.pid), now_ms(), |missed| {
                (missed.explain.0)(mount)
            })
            .into_bytes())
    }),
    DerivedFile::text(".ddb/errors.ndjson", |mount, _| {
        Ok(mount.error_log.all().into_bytes())
    }),
    DerivedFile::text(".ddb/last/capacity.json", |mount, _| {
        Ok(mount.last_responses.capacity_of(mount.caller))
    }),
    DerivedFile::text(".ddb/last/response.json", |mount, _| {
        Ok(mount.last_responses.get(mount.caller).to_vec())
    }),
    DerivedFile::text(".ddb/scratch.ndjson", scratch::lines),
    DerivedFile::text(".ddb/slowlog.ndjson", |mount, _| {
        Ok(mount.call_log.slow.lines().into_bytes())
    }),
    DerivedFile::text(".ddb/stats.json", info::stats),
    DerivedFile::text(".ddb/stats.prom", |mount, _| {
        Ok(prometheus::render(&mount.layout()?.all_metrics()?).into_bytes())
    }),
    DerivedFile::text(".ddb/version", |_, _| {
        Ok(concat!("ddbfs ", env!("CARGO_PKG_VERSION"), "\n").into())
    }),
    DerivedFile::text(".ddb/warnings.ndjson", |mount, _| {
        Ok(
            (mount.error_log.warnings() + &scratch::warnings(mount) + &heat::warnings(mount))
                .into_bytes(),
        )
    }),
];

/// A function that makes the text of a file.
type MakeText = fn(&Mount, &Special) -> Result<Vec<u8>, FsError>;
/// A function that carries out the command of one write.
type RunCommand = fn(&Host, &Special, &[u8]) -> Result<(), FsError>;
type OpenDerived = fn(&Host, &SpecialNode, OpenFlags) -> Result<Handle>;
/// A function that resets what a file has.
type UnlinkDerived = fn(HostAt<'_>, Reply<()>);

/// A row; see the module.
#[derive(Debug, Clone, Copy)]
pub struct DerivedFile {
    /// The name in its directory, or the path of a file below `.ddb/`.
    pub name: &'static str,
    text: MakeText,
    on_write: OnWrite,
    unlink: Option<UnlinkDerived>,
    effort: ReadCost,
    modified: ModifiedTime,
    /// True if listings have it where they have files of its kind.
    pub is_listed: bool,
}

/// The effect of a write to the file.
#[derive(Debug, Clone, Copy)]
enum OnWrite {
    Nothing,
    /// One write is one command.
    Command(CommandThread, RunCommand),
    /// The file has an open file of its own.
    Open(OpenDerived),
}

/// The thread that carries out a command.
#[derive(Debug, Clone, Copy)]
pub enum CommandThread {
    Inline,
    /// A thread for work that waits for a commit at most.
    Short,
    /// A thread for work that may take as long as dropping a table.
    Long,
}

/// The modification time of a file.
#[derive(Debug, Clone, Copy)]
enum ModifiedTime {
    /// The creation of the table.
    Table,
    /// The creation of the table or the draft.
    Draft,
    /// The start of this mount: the text changes with each request, not with the table.
    Mount,
}

impl DerivedFile {
    const fn text(name: &'static str, text: MakeText) -> Self {
        Self {
            name,
            text,
            on_write: OnWrite::Nothing,
            unlink: None,
            effort: ReadCost::Bounded,
            modified: ModifiedTime::Table,
            is_listed: true,
        }
    }

    const fn with_command(self, runs: CommandThread, run: RunCommand) -> Self {
        Self {
            on_write: OnWrite::Command(runs, run),
            ..self
        }
    }

    const fn with_open(self, open: OpenDerived) -> Self {
        Self {
            on_write: OnWrite::Open(open),
            ..self
        }
    }

    const fn with_unlink(self, unlink: UnlinkDerived) -> Self {
        Self {
            unlink: Some(unlink),
            ..self
        }
    }

    const fn with_cost(self, effort: ReadCost) -> Self {
        Self { effort, ..self }
    }

    const fn in_drafts(self) -> Self {
        Self {
            modified: ModifiedTime::Draft,
            ..self
        }
    }

    const fn unlisted(self) -> Self {
        Self {
            is_listed: false,
            ..self
        }
    }

    const fn since_mount(self) -> Self {
        Self {
            modified: ModifiedTime::Mount,
            ..self
        }
    }

    /// Marks a text that is made of the whole table and differs at each moment.
    const fn volatile(self) -> Self {
        self.since_mount().with_cost(ReadCost::TableLive)
    }

    /// True if a draft has this file too.
    #[must_use]
    pub fn is_in_drafts(&self) -> bool {
        matches!(self.modified, ModifiedTime::Draft)
    }

    /// Returns the file of this row, in the place that `place` gives it.
    #[must_use]
    pub fn node(&self, place: impl FnOnce(Feature) -> Special) -> Node {
        let file = place((*self).into()).with_cost(self.effort);
        if matches!(self.on_write, OnWrite::Nothing) {
            file.into()
        } else {
            file.writable().into()
        }
    }
}

/// Returns the row of that name.
#[must_use]
pub fn find(rows: &'static [DerivedFile], name: &str) -> Option<&'static DerivedFile> {
    rows.iter().find(|row| row.name == name)
}

impl NodeOps for DerivedFile {
    fn modified_ms(&self, at: At<'_>) -> Result<u64> {
        match (&at.node.source, self.modified) {
            (None, _) | (_, ModifiedTime::Mount) => Ok(at.started_ms),
            (Some(source), ModifiedTime::Table) => at.source_created_ms(source),
            (Some(source), ModifiedTime::Draft) => {
                Ok(source::schema::table_attr(&at, &source.table)?.modified_ms)
            }
        }
    }

    fn text(&self, at: At<'_>) -> Result<Vec<u8>> {
        (self.text)(&at, at.node)
    }

    fn unlink(&self, at: HostAt<'_>, reply: Reply<()>) {
        match self.unlink {
            Some(unlink) => unlink(at, reply),
            None => reply(Err(FsError::Derived)),
        }
    }

    fn open_writer(&self, at: HostAt<'_>, flags: OpenFlags) -> Result<Handle> {
        match self.on_write {
            OnWrite::Nothing => Err(FsError::Derived),
            OnWrite::Command(runs, run) => Ok(Handle::Special(Arc::new(OpenCommand {
                at: at.node.clone(),
                runs,
                run,
            }))),
            OnWrite::Open(open) => open(&at, at.node, flags),
        }
    }
}

/// An open file that takes commands.
#[derive(Debug)]
struct OpenCommand {
    at: SpecialNode,
    runs: CommandThread,
    run: RunCommand,
}

impl SpecialHandle for OpenCommand {
    fn call(self: Arc<Self>, host: &Host, call: FileCall, reply: Reply<()>) {
        let FileCall::Write { data, .. } = call else {
            return reply(Ok(()));
        };
        let (host_clone, runs) = (host.clone(), self.runs);
        let work = move || reply((self.run)(&host_clone, &self.at, &data));
        match runs {
            CommandThread::Inline => work(),
            CommandThread::Short => host.run_short(work),
            CommandThread::Long => host.run_long(work),
        }
    }
}
