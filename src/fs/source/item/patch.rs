//! `X.patch`: what is written is merged into the item (RFC 7396), in one step: read, merge, put if unchanged, again if it was changed.

use crate::codec::plain_json::{MemberPatch, Patch, parse_patch};
use crate::fs::open::prelude::*;
use crate::fs::source::entry;
use crate::fs::{
    open::{room::open_text, text::Execute},
    write::{Commit, Target},
};
use crate::model::{KeySchema, api::PutItemRequest};

/// How often an item may be changed between reading and putting; each time somebody else's write succeeded.
const TRIES_MAX: usize = 1_000;

const USAGE: &str = "\
write a JSON object here to merge it into the item (RFC 7396), in one step:
  echo '{\"status\":\"shipped\",\"tmp\":null}' > X.patch
null removes an attribute, {\"$null\":true} stores NULL, objects are merged into maps, anything else replaces.
An item that is not there is made.
";

pub struct PatchFile(pub EntryNode);

impl Room for PatchFile {
    fn text(&self, _at: &Special, _mount: &Mount, _caller: Caller) -> Result<Vec<u8>, FsError> {
        Ok(USAGE.as_bytes().to_vec())
    }

    fn open_writer(&self, at: &SpecialNode, host: &Arc<Host>, caller: Caller, flags: OpenFlags) -> Result<Handle, FsError> {
        let (mount, place) = (host.mount(), self.0.clone());
        let key_schema = mount.schema(place.table())?.key.clone();
        let target = PatchTarget { place, key_schema, strict_keys: mount.options.strict_keys };
        Ok(open_text((at.ino(), at.path.clone()), caller, flags, target, None))
    }
}

#[derive(Debug)]
struct PatchTarget {
    place: EntryNode,
    key_schema: KeySchema,
    strict_keys: bool,
}

impl Target for PatchTarget {
    type Request = Patch;

    fn request(&self, text: &[u8], _precondition: Option<Precondition>) -> Result<Commit<Patch>, FsError> {
        let mut request = parse_patch(text).map_err(FsError::Json)?;
        if request.looks_like_dynamodb_json() {
            return Err(FsError::Body("this looks like DynamoDB JSON; a patch is plain JSON".to_owned()));
        }
        let key = self.place.key();
        let mut warnings = Vec::new();
        for (attribute, value) in self.key_schema.attributes().zip(std::iter::once(&key.partition).chain(&key.sort)) {
            warnings.extend(self.take_key(&mut request, &attribute.name, value)?);
        }
        Ok(Commit { request, warnings })
    }

    fn is_statement(&self) -> bool {
        true
    }

    fn unchanged(&self) -> &'static str {
        "The item is unchanged."
    }
}

impl PatchTarget {
    /// The key is the name's: takes it out of the patch. A warning when the patch had another.
    fn take_key(&self, patch: &mut Patch, name: &str, value: &AttributeValue) -> Result<Option<String>, FsError> {
        match patch.0.remove(name) {
            None => Ok(None),
            Some(MemberPatch::Set(given)) if given == *value => Ok(None),
            Some(MemberPatch::Remove) => Err(FsError::Body(format!("`{name}` is part of the key: it cannot be removed"))),
            Some(_) if self.strict_keys => {
                Err(FsError::Body(format!("`{name}` in the body differs from the key that the file's name says")))
            }
            Some(_) => Ok(Some(format!("`{name}` in the body differs from the file's name; the name's key stays"))),
        }
    }
}

impl Execute for PatchTarget {
    fn execute(host: &Arc<Host>, open: &Arc<OpenText<Self>>, patch: Patch, done: Outcome) {
        let (place, schema) = {
            let state = open.state.lock();
            (state.writer.target().place.clone(), state.writer.target().key_schema.clone())
        };
        let merge = Merge { place, schema, patch, writer: open.writer() };
        merge.attempt(host, TRIES_MAX, done);
    }
}

struct Merge {
    place: EntryNode,
    schema: KeySchema,
    patch: Patch,
    /// The thread that writes.
    writer: u32,
}

impl Merge {
    fn attempt(self, host: &Arc<Host>, tries: usize, done: Outcome) {
        let (mut item, precondition) = match entry::load(host.mount(), &self.place) {
            Ok((item, stat)) => (item, Precondition::Version(stat.version)),
            Err(FsError::NotFound) => (self.place.key().to_item(&self.schema), Precondition::Absent),
            Err(FsError::Database(error)) => return done.tell(Err(error)),
            Err(_) => return done.tell(Err(Error::ResourceNotFound)),
        };
        self.patch.apply(&mut item);
        let mut request = PutItemRequest::new(self.place.table().clone(), item);
        request.precondition = Some(precondition);
        let (again, context) = (Arc::clone(host), done.context.clone());
        Arc::clone(host).put(
            request,
            self.writer,
            Outcome::new(context, move |outcome| match outcome {
                Err(Error::ConditionalCheckFailed { .. }) if tries > 1 => {
                    // Read again on another thread: this one is the committer.
                    let host = Arc::clone(&again);
                    again.run_elsewhere(Box::new(move || self.attempt(&host, tries - 1, done)));
                }
                outcome => done.tell(outcome),
            }),
        );
    }
}
