//! Files that are a text made from the database or the mount, and perhaps take commands. One row
//! declares a file; the function of a row is in the source file of its feature.

use super::{about, absence, heat, schema, scratch, table_files};
use crate::codec::metrics::{capacity, points, prometheus};
use crate::fs::{
    mount::texts::pretty,
    node::special::{Effort, Feature},
    open::{
        host::noted,
        prelude::*,
        text::{Call, OpenSpecial},
    },
    path::names::item_path,
    process::session_of,
    source,
};
use crate::inspect::shapes;
use crate::model::layout::Window::{Day, Hour, Minute};

/// Files in the directory of a table or a draft; listed if the mount shows all.
pub static OF_TABLE: [Derived; 12] = [
    Derived::text("describe.json", table_files::describe),
    Derived::text("schema.plan", schema::plan_text)
        .of_drafts_too()
        .opened(schema::open_plan),
    Derived::text("ctl", |_, _| Ok(table_files::COMMANDS.into()))
        .of_drafts_too()
        .taking(Runs::Long, table_files::command),
    Derived::text("advice.md", table_files::advice).of_now(),
    Derived::text("shapes.md", |mount, at| {
        Ok(
            shapes::markdown(&*mount.shapes.get(&*mount.db, at.of_table()?)?, item_path)
                .into_bytes(),
        )
    })
    .reading(Effort::Table),
    Derived::text("shapes.json", |mount, at| {
        Ok(pretty(&shapes::json(
            &*mount.shapes.get(&*mount.db, at.of_table()?)?,
            item_path,
        )))
    })
    .reading(Effort::Table),
    Derived::text("ttl", table_files::time_to_live)
        .taking(Runs::Elsewhere, table_files::set_time_to_live),
    Derived::text("capacity.json", |mount, at| {
        about::metrics(mount, at, |metrics, table, layout| {
            pretty(&capacity::render(metrics, table, layout.prices()))
        })
    })
    .of_mount(),
    Derived::text("metrics.ndjson", |mount, at| {
        about::metrics(mount, at, |metrics, table, _| {
            points::render(table, metrics.now_ms).into_bytes()
        })
    })
    .of_mount(),
    Derived::text("heat.svg", |mount, at| heat::picture(mount, at, Minute)).of_now(),
    Derived::text("heat.hour.svg", |mount, at| heat::picture(mount, at, Hour)).of_now(),
    Derived::text("heat.day.svg", |mount, at| heat::picture(mount, at, Day)).of_now(),
];

/// Files in the directory of an index; listed if the mount shows all.
pub static OF_INDEX: [Derived; 2] = [
    Derived::text("violations.ndjson", |mount, at| {
        absence::absences(at, |source, visit| mount.db.absences(source, true, visit))
    })
    .reading(Effort::Table),
    Derived::text("missing.ndjson", |mount, at| {
        absence::absences(at, |source, visit| mount.db.absences(source, false, visit))
    })
    .reading(Effort::Table),
];

/// Files in `partitions/`, never listed.
pub static OF_PARTITIONS: [Derived; 8] = [
    Derived::text("heat.tsv", |mount, at| heat::heat(mount, at, Minute)).of_now(),
    Derived::text("heat.hour.tsv", |mount, at| heat::heat(mount, at, Hour)).of_now(),
    Derived::text("heat.day.tsv", |mount, at| heat::heat(mount, at, Day)).of_now(),
    Derived::text("hot.tsv", |mount, at| heat::hot(mount, at, Minute)).of_now(),
    Derived::text("hot.hour.tsv", |mount, at| heat::hot(mount, at, Hour)).of_now(),
    Derived::text("hot.day.tsv", |mount, at| heat::hot(mount, at, Day)).of_now(),
    Derived::text("hot-items.tsv", heat::hot_items).of_now(),
    Derived::text("big.tsv", heat::big).of_now(),
];

/// Files below `.ddb/`, by their paths; listed.
pub static OF_SERVICE: [Derived; 13] = [
    Derived::text(".ddb/capacity.json", about::capacity),
    Derived::text(".ddb/config.json", about::config),
    Derived::text(".ddb/ctl", |_, _| Ok(about::CONTROL_USAGE.into()))
        .taking(Runs::Here, about::control),
    Derived::text(".ddb/errors/last", |mount, _| {
        Ok(mount
            .journal
            .last(session_of(mount.caller.pid), now_ms(), |missed| {
                (missed.explain)(mount)
            })
            .into_bytes())
    }),
    Derived::text(".ddb/errors.ndjson", |mount, _| {
        Ok(mount.journal.all().into_bytes())
    }),
    Derived::text(".ddb/last/capacity.json", |mount, _| {
        Ok(mount.last.capacity_of(mount.caller))
    }),
    Derived::text(".ddb/last/response.json", |mount, _| {
        Ok(mount.last.of(mount.caller).to_vec())
    }),
    Derived::text(".ddb/scratch.ndjson", scratch::lines),
    Derived::text(".ddb/slowlog.ndjson", |mount, _| {
        Ok(mount.calls.slow_lines().into_bytes())
    }),
    Derived::text(".ddb/stats.json", about::stats),
    Derived::text(".ddb/stats.prom", |mount, _| {
        Ok(prometheus::render(&mount.layout()?.all_metrics()?).into_bytes())
    }),
    Derived::text(".ddb/version", |_, _| {
        Ok(concat!("ddbfs ", env!("CARGO_PKG_VERSION"), "\n").into())
    }),
    Derived::text(".ddb/warnings.ndjson", |mount, _| {
        Ok(
            (mount.journal.warnings() + &scratch::warnings(mount) + &heat::warnings(mount))
                .into_bytes(),
        )
    }),
];

/// A function that makes the text of a file.
type MakeText = fn(&Mount, &Special) -> Result<Vec<u8>, FsError>;
/// A function that carries out the command of one write.
type Run = fn(&Host, &Special, &[u8]) -> Result<(), FsError>;
type Open = fn(&Host, &SpecialNode, OpenFlags) -> Result<Handle>;

/// A row; see the module.
#[derive(Debug, Clone, Copy)]
pub struct Derived {
    /// The name in its directory, or the path of a file below `.ddb/`.
    pub name: &'static str,
    text: MakeText,
    written: Written,
    effort: Effort,
    modified: Modified,
}

/// The effect of a write to the file.
#[derive(Debug, Clone, Copy)]
enum Written {
    Nothing,
    /// One write is one command.
    Command(Runs, Run),
    /// The file has an open file of its own.
    Open(Open),
}

/// The thread that carries out a command.
#[derive(Debug, Clone, Copy)]
pub enum Runs {
    Here,
    /// A thread for work that waits for a commit at most.
    Elsewhere,
    /// A thread for work that may take as long as dropping a table.
    Long,
}

/// The modification time of a file.
#[derive(Debug, Clone, Copy)]
enum Modified {
    /// The creation of the table.
    Table,
    /// The creation of the table or the draft.
    Draft,
    /// The start of this mount: the text changes with each request, not with the table.
    Mount,
}

impl Derived {
    const fn text(name: &'static str, text: MakeText) -> Self {
        Self {
            name,
            text,
            written: Written::Nothing,
            effort: Effort::Small,
            modified: Modified::Table,
        }
    }

    const fn taking(self, runs: Runs, run: Run) -> Self {
        Self {
            written: Written::Command(runs, run),
            ..self
        }
    }

    const fn opened(self, open: Open) -> Self {
        Self {
            written: Written::Open(open),
            ..self
        }
    }

    const fn reading(self, effort: Effort) -> Self {
        Self { effort, ..self }
    }

    const fn of_drafts_too(self) -> Self {
        Self {
            modified: Modified::Draft,
            ..self
        }
    }

    const fn of_mount(self) -> Self {
        Self {
            modified: Modified::Mount,
            ..self
        }
    }

    /// Marks a text that is made of the whole table and differs at each moment.
    const fn of_now(self) -> Self {
        self.of_mount().reading(Effort::TableNow)
    }

    /// True if a draft has this file too.
    #[must_use]
    pub fn is_of_drafts(&self) -> bool {
        matches!(self.modified, Modified::Draft)
    }

    /// Returns the file of this row, in the place that `place` gives it.
    #[must_use]
    pub fn node(&self, place: impl FnOnce(Feature) -> Special) -> Node {
        let file = place((*self).into()).taking(self.effort);
        if matches!(self.written, Written::Nothing) {
            file.into()
        } else {
            file.writable().into()
        }
    }
}

/// Returns the row of that name.
#[must_use]
pub fn row(rows: &'static [Derived], name: &str) -> Option<&'static Derived> {
    rows.iter().find(|row| row.name == name)
}

impl NodeOps for Derived {
    fn modified_ms(&self, at: &SpecialNode, mount: &Mount) -> Result<u64> {
        match (&at.source, self.modified) {
            (None, _) | (_, Modified::Mount) => Ok(mount.started_ms),
            (Some(source), Modified::Table) => mount.source_time(source),
            (Some(source), Modified::Draft) => {
                Ok(source::schema::table_attr(mount, &source.table)?.modified_ms)
            }
        }
    }

    fn text(&self, at: &SpecialNode, mount: &Mount) -> Result<Vec<u8>> {
        (self.text)(mount, at)
    }

    /// True if the file takes commands to the mount, not to the data.
    fn is_judged_by_request(&self, _at: &SpecialNode) -> bool {
        matches!(self.written, Written::Command(Runs::Here, _))
    }

    fn open_writer(&self, at: &SpecialNode, host: &Host, flags: OpenFlags) -> Result<Handle> {
        match self.written {
            Written::Nothing => Err(FsError::Derived),
            Written::Command(runs, run) => Ok(Handle::Special(Arc::new(OpenCommand {
                at: at.clone(),
                runs,
                run,
            }))),
            Written::Open(open) => open(host, at, flags),
        }
    }
}

/// An open file that takes commands.
struct OpenCommand {
    at: SpecialNode,
    runs: Runs,
    run: Run,
}

impl std::fmt::Debug for OpenCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenCommand")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl OpenSpecial for OpenCommand {
    fn call(self: Arc<Self>, host: &Host, call: Call, reply: Reply<()>) {
        let Call::Write { data, .. } = call else {
            return reply(Ok(()));
        };
        let (again, runs) = (host.clone(), self.runs);
        let work = move || {
            let ended = (self.run)(&again, &self.at, &data);
            reply(noted(&again, "write", || self.at.path.clone(), ended));
        };
        match runs {
            Runs::Here => work(),
            Runs::Elsewhere => host.run_elsewhere(Box::new(work)),
            Runs::Long => host.run_long(Box::new(work)),
        }
    }
}
