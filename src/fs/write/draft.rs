//! Tables that mkdir made and CreateTable has not: a directory in memory with a `schema.json` to
//! write (docs/filesystem.md 3).
//!
//! `tar -x` and `cp -r` of `schema.json items` may come in any order, so folders below a draft are
//! remembered; files below them need the table first. tar unlinks a file before it writes it anew,
//! so the template can be unlinked.

use crate::fs::prelude::*;
use crate::model::TableSettings;
use crate::model::api::tables::KeySchemaElement;
use crate::model::schema::BillingMode;
use crate::model::{api::CreateTableRequest, schema::KeyType};
use std::collections::{BTreeMap, BTreeSet};

/// The most drafts at a time.
pub const DRAFTS_MAX: usize = 256;
/// The most folders below one draft.
pub const DRAFT_FOLDERS_MAX: usize = 10_000;

/// All drafts.
#[derive(Debug, Default)]
pub struct Drafts {
    by_name: BTreeMap<TableName, Draft>,
}

/// A table that is not created yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    /// False if the template was unlinked.
    has_schema: bool,
    /// Filesystem paths relative to the draft, as in `items/u1`.
    folders: BTreeSet<String>,
}

impl Drafts {
    /// Makes a draft: mkdir in the root. The caller has checked that there is no such table.
    ///
    /// # Errors
    /// `Invalid` if it is no table name; `Exists`; `NotPermitted` if there are too many drafts.
    pub fn create(&mut self, name: &str, now_ms: u64) -> Result<TableName, FsError> {
        let table = table_name(name)?;
        if self.by_name.contains_key(&table) {
            return Err(FsError::Exists);
        }
        if self.by_name.len() >= DRAFTS_MAX {
            return Err(FsError::NotPermitted(
                "too many draft tables; write their schema.json or remove some",
            ));
        }
        self.by_name.insert(
            table.clone(),
            Draft {
                created_ms: now_ms,
                has_schema: true,
                folders: BTreeSet::new(),
            },
        );
        Ok(table)
    }

    #[must_use]
    pub fn get(&self, table: &TableName) -> Option<&Draft> {
        self.by_name.get(table)
    }

    /// Returns the names in byte order.
    pub fn names(&self) -> impl Iterator<Item = &TableName> {
        self.by_name.keys()
    }

    /// Removes an empty draft: rmdir.
    ///
    /// # Errors
    /// `NotFound`; `NotEmpty` if folders were made in it.
    pub fn remove(&mut self, table: &TableName) -> Result<(), FsError> {
        let draft = self.by_name.get(table).ok_or(FsError::NotFound)?;
        if !draft.folders.is_empty() {
            return Err(FsError::NotEmpty);
        }
        self.by_name.remove(table);
        Ok(())
    }

    /// Drops a draft with its folders; true if it existed.
    pub fn drop_draft(&mut self, table: &TableName) -> bool {
        self.by_name.remove(table).is_some()
    }

    /// Ends the draft of a table that was created; returns its folders, which are empty collections
    /// now.
    pub fn finish(&mut self, table: &TableName) -> BTreeSet<String> {
        self.by_name
            .remove(table)
            .map(|draft| draft.folders)
            .unwrap_or_default()
    }

    /// Returns the text of `schema.json`.
    ///
    /// # Errors
    /// `NotFound` if there is no such draft, or the file was unlinked.
    pub fn schema_text(&self, table: &TableName) -> Result<Vec<u8>, FsError> {
        match self.by_name.get(table) {
            Some(draft) if draft.has_schema => Ok(template(table)),
            _ => Err(FsError::NotFound),
        }
    }

    /// Unlinks `schema.json`.
    ///
    /// # Errors
    /// `NotFound` if there is no such draft, or the file was unlinked.
    pub fn unlink_schema(&mut self, table: &TableName) -> Result<(), FsError> {
        let draft = self
            .by_name
            .get_mut(table)
            .filter(|draft| draft.has_schema)
            .ok_or(FsError::NotFound)?;
        draft.has_schema = false;
        Ok(())
    }

    /// Makes a folder below a draft: mkdir, `path` relative to the draft.
    ///
    /// # Errors
    /// `Exists`; `NotFound` if its parent does not exist; `NotPermitted` if there are too many
    /// folders.
    pub fn make_folder(&mut self, table: &TableName, path: &str) -> Result<(), FsError> {
        let draft = self.by_name.get_mut(table).ok_or(FsError::NotFound)?;
        if draft.folders.contains(path) {
            return Err(FsError::Exists);
        }
        if path
            .rsplit_once('/')
            .is_some_and(|(parent, _)| !draft.folders.contains(parent))
        {
            return Err(FsError::NotFound);
        }
        if draft.folders.len() >= DRAFT_FOLDERS_MAX {
            return Err(FsError::NotPermitted(
                "too many folders in a draft table; write its schema.json first",
            ));
        }
        draft.folders.insert(path.to_owned());
        Ok(())
    }

    /// Removes a folder below a draft: rmdir.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `NotEmpty` if it has folders.
    pub fn remove_folder(&mut self, table: &TableName, path: &str) -> Result<(), FsError> {
        let draft = self.by_name.get_mut(table).ok_or(FsError::NotFound)?;
        if !draft.folders.contains(path) {
            return Err(FsError::NotFound);
        }
        if draft.children(path).next().is_some() {
            return Err(FsError::NotEmpty);
        }
        draft.folders.remove(path);
        Ok(())
    }
}

impl Draft {
    #[must_use]
    pub fn has_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    /// Returns the filesystem paths of all folders, relative to the draft.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str)
    }

    /// Returns the names of the folders in `path`, `""` for the draft itself.
    pub fn children<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a str> {
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        self.folders
            .range(prefix.clone()..)
            .map_while(move |folder| folder.strip_prefix(prefix.as_str()))
            .filter(|rest| !rest.contains('/'))
    }

    /// Returns the error of a file created below a draft.
    #[must_use]
    pub fn file_refused() -> FsError {
        FsError::NotPermitted("this table is a draft: write its schema.json first, then its items")
    }
}

/// Returns a CreateTable request to start from: valid as it is.
fn template(table: &TableName) -> Vec<u8> {
    format!(
        r#"{{
  "TableName": "{table}",
  "AttributeDefinitions": [
    {{"AttributeName": "pk", "AttributeType": "S"}}
  ],
  "KeySchema": [
    {{"AttributeName": "pk", "KeyType": "HASH"}}
  ],
  "BillingMode": "PAY_PER_REQUEST"
}}
"#
    )
    .into_bytes()
}

/// Returns the CreateTable request of a directory name that holds one: `Orders@pk:S,sk:N`. `None`
/// for any other name.
#[must_use]
pub fn one_step(name: &str) -> Option<Result<CreateTableRequest, FsError>> {
    let (table, keys) = name.split_once('@')?;
    Some(table_name(table).and_then(|table| one_step_request(table, keys)))
}

fn one_step_request(table_name: TableName, keys: &str) -> Result<CreateTableRequest, FsError> {
    const USAGE: FsError = FsError::Invalid(
        "a table in one step is NAME@pk:S or NAME@pk:S,sk:N; types are S, N and B",
    );
    let attributes: Vec<KeyAttribute> = keys
        .split(',')
        .map(key_attribute)
        .collect::<Option<_>>()
        .ok_or(USAGE)?;
    if attributes.len() > 2 {
        return Err(USAGE);
    }
    let key_types = [KeyType::Hash, KeyType::Range];
    let element = |(attribute, key_type): (&KeyAttribute, KeyType)| KeySchemaElement {
        attribute_name: attribute.name.clone(),
        key_type,
    };
    Ok(CreateTableRequest {
        table_name,
        key_schema: attributes.iter().zip(key_types).map(element).collect(),
        attribute_definitions: attributes,
        billing_mode: Some(BillingMode::PayPerRequest),
        throughput: None,
        local_indexes: None,
        global_indexes: None,
        deletion_protection: false,
        settings: TableSettings::default(),
        vector_indexes: None,
    })
}

fn key_attribute(text: &str) -> Option<KeyAttribute> {
    let (name, attribute_type) = text.rsplit_once(':')?;
    let attribute_type = match attribute_type {
        "S" => KeyAttributeType::S,
        "N" => KeyAttributeType::N,
        "B" => KeyAttributeType::B,
        _ => return None,
    };
    (!name.is_empty()).then(|| KeyAttribute {
        name: name.to_owned(),
        attribute_type,
    })
}

/// The rule for table names, a sentence.
pub const TABLE_NAME_RULE: &str =
    "a table name has 3 to 255 characters of a-z, A-Z, 0-9, '_', '.' and '-'";

fn table_name(name: &str) -> Result<TableName, FsError> {
    TableName::new(name).map_err(|_| FsError::Invalid(TABLE_NAME_RULE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::write::schema_change::{SchemaRequest, SchemaTarget};

    fn table(name: &str) -> TableName {
        TableName::new(name).unwrap()
    }

    fn target() -> SchemaTarget {
        SchemaTarget {
            table: table("Orders"),
            stored: None,
        }
    }

    fn request(text: &str) -> Result<CreateTableRequest, FsError> {
        match target().request(text.as_bytes())?.request {
            SchemaRequest::Create {
                request,
                expiry: None,
                ..
            } => Ok(*request),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_draft_from_mkdir_to_the_table() {
        let mut drafts = Drafts::default();
        let orders = drafts.create("Orders", 5).unwrap();
        assert_eq!(drafts.create("Orders", 5), Err(FsError::Exists));
        assert!(matches!(drafts.create("a b", 5), Err(FsError::Invalid(_))));
        assert_eq!(drafts.names().collect::<Vec<_>>(), [&orders]);
        drafts.make_folder(&orders, "items").unwrap();
        drafts.make_folder(&orders, "items/u1").unwrap();
        assert_eq!(
            drafts.make_folder(&orders, "items/u1"),
            Err(FsError::Exists)
        );
        assert_eq!(
            drafts.make_folder(&orders, "none/u1"),
            Err(FsError::NotFound)
        );
        assert_eq!(drafts.remove(&orders), Err(FsError::NotEmpty));
        assert_eq!(
            drafts.remove_folder(&orders, "items"),
            Err(FsError::NotEmpty)
        );
        let draft = drafts.get(&orders).unwrap();
        assert!(draft.has_folder("items/u1"));
        assert_eq!(draft.children("").collect::<Vec<_>>(), ["items"]);
        assert_eq!(draft.children("items").collect::<Vec<_>>(), ["u1"]);
        assert_eq!(
            drafts.finish(&orders).into_iter().collect::<Vec<_>>(),
            ["items", "items/u1"]
        );
        assert_eq!(drafts.get(&orders), None);
    }

    #[test]
    fn an_empty_draft_can_be_removed() {
        let mut drafts = Drafts::default();
        let orders = drafts.create("Orders", 5).unwrap();
        assert_eq!(drafts.remove(&orders), Ok(()));
        assert_eq!(drafts.remove(&orders), Err(FsError::NotFound));
    }

    #[test]
    fn the_template_is_a_valid_request_and_can_be_unlinked() {
        let mut drafts = Drafts::default();
        let orders = drafts.create("Orders", 5).unwrap();
        let text = String::from_utf8(drafts.schema_text(&orders).unwrap()).unwrap();
        let created = request(&text).unwrap();
        assert_eq!(created, one_step("Orders@pk:S").unwrap().unwrap());
        drafts.unlink_schema(&orders).unwrap();
        assert_eq!(drafts.schema_text(&orders), Err(FsError::NotFound));
        assert_eq!(drafts.unlink_schema(&orders), Err(FsError::NotFound));
    }

    #[test]
    fn the_directory_names_the_table() {
        let keys = r#""AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST""#;
        let cases = [
            (format!("{{{keys}}}"), 0),
            (format!(r#"{{"TableName":"Orders",{keys}}}"#), 0),
            (format!(r#"{{"TableName":"Others",{keys}}}"#), 1),
        ];
        for (text, warnings) in cases {
            let commit = target().request(text.as_bytes()).unwrap();
            assert_eq!(
                (request(&text).unwrap().table_name, commit.warnings.len()),
                (table("Orders"), warnings),
                "{text}"
            );
        }
        assert!(request(r#"{"KeySchema":1}"#).is_err());
    }

    #[test]
    fn one_step_names() {
        assert!(one_step("Orders").is_none());
        let request = one_step("Orders@pk:S,a:b:N").unwrap().unwrap();
        assert_eq!(request.table_name, table("Orders"));
        let names: Vec<_> = request
            .key_schema
            .iter()
            .map(|k| (k.attribute_name.as_str(), k.key_type))
            .collect();
        assert_eq!(names, [("pk", KeyType::Hash), ("a:b", KeyType::Range)]);
        assert_eq!(
            request.attribute_definitions[1].attribute_type,
            KeyAttributeType::N
        );
        for bad in [
            "Orders@",
            "Orders@pk",
            "Orders@pk:X",
            "Orders@:S",
            "Orders@a:S,b:S,c:S",
            "a b@pk:S",
        ] {
            assert!(
                matches!(one_step(bad), Some(Err(FsError::Invalid(_)))),
                "{bad}"
            );
        }
    }
}
