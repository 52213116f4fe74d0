//! Conditional writes (compare and set): the checks of the stored item before it changes, by the
//! filesystem's precondition and the condition of the request (docs/dynamodb.md 12.5). They are
//! parsed before the write is queued and evaluated on the writer thread.

use std::{cell::OnceCell, collections::BTreeSet};

use crate::engine::{catalog::damage, read::select, runtime::prelude::*};
use crate::expr::{Condition, PlaceholderScope, condition, legacy};
use crate::model::{
    api::{ConditionParameter, Placeholders, Precondition},
    error::expression::ExpressionParameter,
};

/// The condition of one write.
#[derive(Debug, Clone, Default)]
pub struct WriteCondition {
    precondition: Option<Precondition>,
    condition: Option<Condition>,
    /// True if a failure returns the existing item.
    return_old: bool,
}

impl WriteCondition {
    /// Parses the condition of a request and marks its placeholders as used.
    ///
    /// # Errors
    /// Fails with `Expression` if the condition cannot be parsed.
    pub fn parse(
        parameter: &ConditionParameter,
        scope: &mut PlaceholderScope<'_>,
    ) -> Result<Self, Error> {
        let condition = match parameter {
            ConditionParameter::None => None,
            ConditionParameter::Expression(text) => Some(condition::parse_parameter(
                text,
                ExpressionParameter::Condition,
                scope,
            )?),
            ConditionParameter::Legacy(conditions) => legacy::condition(conditions)?,
        };
        Ok(Self {
            condition,
            ..Self::default()
        })
    }

    /// Parses a condition that is the only expression of its request, and checks the placeholders.
    ///
    /// # Errors
    /// Fails with `Expression` if the condition cannot be parsed.
    pub fn of_request(
        parameter: &ConditionParameter,
        placeholders: &Placeholders,
    ) -> Result<Self, Error> {
        let has_expression = parameter.expression().is_some();
        let values_missing = (!has_expression).then_some(ExpressionParameter::OF_CONDITION);
        let mut scope = PlaceholderScope::checked(placeholders, has_expression, values_missing)?;
        let guard = Self::parse(parameter, &mut scope)?;
        scope.finish()?;
        Ok(guard)
    }

    /// Returns a guard for a condition that is parsed already.
    #[must_use]
    pub fn of_condition(condition: Option<Condition>, return_old: bool) -> Self {
        Self {
            precondition: None,
            condition,
            return_old,
        }
    }

    /// Adds a precondition, and whether a failure returns the item.
    #[must_use]
    pub fn with_precondition(self, precondition: Option<Precondition>, return_old: bool) -> Self {
        Self {
            precondition,
            return_old,
            ..self
        }
    }

    /// Refuses document paths into key attributes of the table or its indexes: keys are scalars.
    ///
    /// # Errors
    /// Fails with `PathIntoKey`, naming the first such key.
    pub fn check_paths(&self, table: &TableEntry) -> Result<(), Error> {
        let Some(condition) = &self.condition else {
            return Ok(());
        };
        Ok(select::check_paths(&condition.paths(), &table.schema)?)
    }

    /// Checks the stored item against precondition and condition.
    ///
    /// # Errors
    /// Fails with `ConditionalCheckFailed`, or with an error of the store.
    pub fn check(&self, stored: &StoredItem) -> Result<(), Error> {
        // The precondition first: it reads only the head of the record.
        if self.meets_precondition(stored)? && self.meets_condition(stored)? {
            return Ok(());
        }
        let item = if self.return_old {
            stored.item()?.cloned().map(Box::new)
        } else {
            None
        };
        Err(Error::ConditionalCheckFailed { item })
    }

    fn meets_precondition(&self, stored: &StoredItem) -> Result<bool, Error> {
        let version = stored.record()?.map(|record| record.version());
        Ok(match self.precondition {
            None => true,
            Some(Precondition::Absent) => version.is_none(),
            Some(Precondition::Version(expected)) => version == Some(expected),
            Some(Precondition::VersionOrAbsent(expected)) => {
                version.is_none_or(|version| version == expected)
            }
        })
    }

    fn meets_condition(&self, stored: &StoredItem) -> Result<bool, Error> {
        let Some(condition) = &self.condition else {
            return Ok(true);
        };
        let names: BTreeSet<&str> = condition.attribute_names();
        let item = match stored.record()? {
            // Only the attributes that the condition names are decoded.
            Some(record) => record.attributes(&|name| names.contains(name))?,
            None => Item::default(),
        };
        Ok(condition.holds(&item))
    }
}

// The item that a write finds.

/// An item of a table as the transaction finds it, with its key.
#[derive(Debug)]
pub struct StoredItem {
    pub table: Arc<TableEntry>,
    pub key: Key,
    pub address: EntryAddress,
    /// The encoded record; `None` without an item.
    bytes: Option<Vec<u8>>,
    /// The decoded item, filled on first use.
    item: OnceCell<Item>,
}

impl StoredItem {
    /// Reads the item of `key`.
    pub fn read(read: &dyn Read, table: &Arc<TableEntry>, key: Key) -> Result<Self, StoreError> {
        let address = EntryAddress::of_item(table.source, &key);
        // Copied: the following writes borrow the batch mutably and may move the page of these
        // bytes.
        let bytes = read.get(&address.encode())?.map(<[u8]>::to_vec);
        Ok(Self {
            table: Arc::clone(table),
            key,
            address,
            bytes,
            item: OnceCell::new(),
        })
    }

    /// Reads the item as [`Self::read`] does, and records the read in the transaction.
    ///
    /// # Errors
    /// Fails with `Throttled`, or with an error of the store.
    pub fn load(
        transaction: &mut Transaction<'_>,
        table: &Arc<TableEntry>,
        key: Key,
    ) -> Result<Self, Error> {
        let stored = Self::read(transaction.read(), table, key)?;
        // After the read: a condition that fails is charged by the size of the stored item.
        transaction.admit_item(table, &stored.address, stored.bytes())?;
        Ok(stored)
    }

    /// Returns the encoded record.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// Returns the item's record; `None` without an item.
    pub fn record(&self) -> Result<Option<Record<'_>>, StoreError> {
        self.bytes
            .as_deref()
            .map(Record::parse)
            .transpose()
            .map_err(|error| self.locate(error))
    }

    /// Adds table and key to the error of a damaged record.
    fn locate(&self, error: StoreError) -> StoreError {
        let StoreError::Corrupt(what) = error else {
            return error;
        };
        let owner = format!("table {}", self.table.schema.name);
        damage::in_record(what, Some(&owner), &self.address.encode())
    }

    /// Returns the item's size in DynamoDB bytes; 0 without an item.
    pub fn item_bytes(&self) -> Result<usize, StoreError> {
        Ok(self
            .record()?
            .map_or(0, |record| record.item_bytes() as usize))
    }

    /// Returns the item, decoded once.
    pub fn item(&self) -> Result<Option<&Item>, StoreError> {
        if self.item.get().is_none() {
            let Some(record) = self.record()? else {
                return Ok(None);
            };
            // Decoded before `get_or_init`, which cannot return an error.
            let item = record.to_item().map_err(|error| self.locate(error))?;
            return Ok(Some(self.item.get_or_init(|| item)));
        }
        Ok(self.item.get())
    }
}
