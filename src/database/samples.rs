//! The example tables with their data: what `ddbfs sample` creates and tests use.
//!
//! GameScores, Thread, Pets and the invoices are the examples of DynamoDB's developer guide and of its articles on partition
//! keys. Impossible dates such as 2015-02-31 are theirs: a date is plain text.

use crate::model::api::create_table::{IndexDefinition, ProjectionDefinition, ProjectionType};
use crate::model::api::{CreateTableRequest, KeySchemaElement};
use crate::model::schema::{BillingMode, IndexKind, KeyAttributeType, KeyType};
use crate::model::settings::ThroughputSettings;
use crate::model::{AttributeValue, IndexName, Item, KeyAttribute, Number, TableName, TableSettings};

use AttributeValue::S;

/// A table's definition and its items.
pub type SampleTable = (CreateTableRequest, Vec<Item>);

/// Every example table.
#[must_use]
pub fn sample_tables() -> Vec<SampleTable> {
    let tables = [
        game_scores(),
        thread(),
        pets(),
        pets_by_type(),
        invoices(),
        invoice_transactions(),
        orders_by_sequence(),
        orders(),
        product_catalog(),
    ];
    tables.into_iter().flatten().collect()
}

const STRING: KeyAttributeType = KeyAttributeType::S;
const NUMBER: KeyAttributeType = KeyAttributeType::N;

/// `None` only if a name in this file were no legal name.
struct TableBuilder {
    request: Option<CreateTableRequest>,
}

impl TableBuilder {
    fn new(name: &str, partition: (&str, KeyAttributeType), sort: Option<(&str, KeyAttributeType)>) -> Self {
        let keys: Vec<(&str, KeyAttributeType)> = std::iter::once(partition).chain(sort).collect();
        let request = TableName::new(name).ok().map(|table_name| CreateTableRequest {
            table_name,
            attribute_definitions: Vec::new(),
            key_schema: key_schema(&keys),
            billing_mode: Some(BillingMode::PayPerRequest),
            throughput: None,
            local_indexes: None,
            global_indexes: None,
            deletion_protection: false,
            settings: TableSettings::default(),
        });
        Self { request }.define(&keys)
    }

    fn define(mut self, keys: &[(&str, KeyAttributeType)]) -> Self {
        if let Some(request) = &mut self.request {
            for (name, attribute_type) in keys {
                if request.attribute_definitions.iter().all(|known| known.name != *name) {
                    let attribute = KeyAttribute { name: (*name).to_owned(), attribute_type: *attribute_type };
                    request.attribute_definitions.push(attribute);
                }
            }
        }
        self
    }

    fn index(
        mut self,
        kind: IndexKind,
        name: &str,
        keys: &[(&str, KeyAttributeType)],
        projection: (ProjectionType, &[&str]),
    ) -> Self {
        let (projection_type, names) = projection;
        let non_key_attributes = (!names.is_empty()).then(|| names.iter().map(|name| (*name).to_owned()).collect());
        let index = IndexName::new(name).ok().map(|name| IndexDefinition {
            name,
            kind,
            key_schema: key_schema(keys),
            projection: ProjectionDefinition { projection_type: Some(projection_type), non_key_attributes },
            throughput: None,
            settings: ThroughputSettings::default(),
        });
        if let Some(request) = &mut self.request {
            let list = match kind {
                IndexKind::Global => &mut request.global_indexes,
                IndexKind::Local => &mut request.local_indexes,
            };
            list.get_or_insert_default().extend(index);
        }
        self.define(keys)
    }

    fn with(self, items: Vec<Item>) -> Option<SampleTable> {
        Some((self.request?, items))
    }
}

/// The first key is HASH, a second RANGE.
fn key_schema(keys: &[(&str, KeyAttributeType)]) -> Vec<KeySchemaElement> {
    let types = [KeyType::Hash, KeyType::Range];
    let elements = keys.iter().zip(types);
    elements.map(|((name, _), key_type)| KeySchemaElement { attribute_name: (*name).to_owned(), key_type }).collect()
}

fn s(text: &str) -> AttributeValue {
    S(text.to_owned())
}

fn n(number: u32) -> AttributeValue {
    // A u32 is always a legal number.
    AttributeValue::N(number.to_string().parse().unwrap_or(Number::ZERO))
}

fn game_scores() -> Option<SampleTable> {
    const SCORES: &[(&str, &str, u32, &str, u32, u32)] = &[
        ("101", "Galaxy Invaders", 5842, "2015-09-15:17:24:31", 21, 72),
        ("101", "Meteor Blasters", 1000, "2015-10-22:23:18:01", 12, 3),
        ("101", "Starship X", 24, "2015-08-31:13:14:21", 4, 9),
        ("102", "Alien Adventure", 192, "2015-07-12:11:07:56", 32, 192),
        ("102", "Galaxy Invaders", 0, "2015-09-18:07:33:42", 0, 5),
        ("103", "Attack Ships", 3, "2015-10-19:01:13:24", 1, 8),
        ("103", "Galaxy Invaders", 2317, "2015-09-11:06:53:00", 40, 3),
        ("103", "Meteor Blasters", 723, "2015-10-19:01:13:24", 22, 12),
        ("103", "Starship X", 42, "2015-07-11:06:53:03", 4, 19),
    ];
    let scores = SCORES.iter().map(|(user, title, top, date, wins, losses)| {
        Item::from([
            ("UserId", s(user)),
            ("GameTitle", s(title)),
            ("TopScore", n(*top)),
            ("TopScoreDateTime", s(date)),
            ("Wins", n(*wins)),
            ("Losses", n(*losses)),
        ])
    });
    let comet = |user: &str| Item::from([("UserId", s(user)), ("GameTitle", s("Comet Quest")), ("TopScore", n(0))]);
    let never_played = Item::from([("UserId", s("400")), ("GameTitle", s("Comet Quest"))]);
    let items = scores.chain(["123", "201", "301"].map(comet)).chain([never_played]).collect();

    let by_title = [("GameTitle", STRING), ("TopScore", NUMBER)];
    let by_score = [("TopScore", NUMBER), ("TopScoreDateTime", STRING)];
    TableBuilder::new("GameScores", ("UserId", STRING), Some(("GameTitle", STRING)))
        .index(IndexKind::Global, "GameTitleIndex", &by_title, (ProjectionType::KeysOnly, &[]))
        .index(IndexKind::Global, "GameTitleWinsIndex", &by_title, (ProjectionType::Include, &["Wins", "Losses"]))
        .index(IndexKind::Global, "TopScoreIndex", &by_score, (ProjectionType::All, &[]))
        .with(items)
}

fn thread() -> Option<SampleTable> {
    const THREADS: &[(&str, &str, &str, u32)] = &[
        ("S3", "aaa", "2015-03-15:17:24:31", 12),
        ("S3", "bbb", "2015-01-22:23:18:01", 3),
        ("S3", "ccc", "2015-02-31:13:14:21", 4),
        ("S3", "ddd", "2015-01-03:09:21:11", 9),
        ("EC2", "yyy", "2015-02-12:11:07:56", 18),
        ("EC2", "zzz", "2015-01-18:07:33:42", 0),
        ("RDS", "rrr", "2015-01-19:01:13:24", 3),
        ("RDS", "sss", "2015-03-11:06:53:00", 11),
        ("RDS", "ttt", "2015-10-22:12:19:44", 5),
        ("EC2", "qqq", "2015-09-30T12:00:00.000Z", 7),
    ];
    let mut items: Vec<Item> = THREADS
        .iter()
        .map(|(forum, subject, date, replies)| {
            Item::from([("ForumName", s(forum)), ("Subject", s(subject)), ("LastPostDateTime", s(date)), ("Replies", n(*replies))])
        })
        .collect();
    if let Some(item) = items.last_mut() {
        let tags = ["instances", "pricing"].map(str::to_owned).to_vec();
        item.0.insert("Tags".to_owned(), AttributeValue::Ss(tags));
        item.0.insert("Views".to_owned(), n(98));
    }
    TableBuilder::new("Thread", ("ForumName", STRING), Some(("Subject", STRING)))
        .index(
            IndexKind::Local,
            "LastPostIndex",
            &[("ForumName", STRING), ("LastPostDateTime", STRING)],
            (ProjectionType::Include, &["Replies"]),
        )
        .with(items)
}

fn pets() -> Option<SampleTable> {
    const PETS: &[(&str, &str)] =
        &[("Dog", "Bowser"), ("Dog", "Fido"), ("Dog", "Rover"), ("Dog", "Snoopy"), ("Cat", "Fluffy"), ("Fish", "Gill")];
    let pet = |(animal, name): &(&str, &str)| Item::from([("AnimalType", s(animal)), ("Name", s(name))]);
    TableBuilder::new("Pets", ("AnimalType", STRING), Some(("Name", STRING))).with(PETS.iter().map(pet).collect())
}

fn pets_by_type() -> Option<SampleTable> {
    let animal = |animal, legs| Item::from([("AnimalType", s(animal)), ("Legs", n(legs))]);
    let items = vec![animal("Bird", 2), animal("Cat", 4), animal("Dog", 4), animal("Fish", 0)];
    TableBuilder::new("PetsByType", ("AnimalType", STRING), None).with(items)
}

/// Write-sharded: the partition key is the invoice number with a calculated suffix.
fn invoices() -> Option<SampleTable> {
    const INVOICES: &[(&str, &str, &str)] = &[
        ("121212-1", "Client1_Trans1", "2016-05-17 01.36.45"),
        ("121212-1", "Client1_Trans2", "2016-05-18 01.36.30"),
        ("121212-2", "Client2_Trans1", "2016-06-15 01.36.20"),
        ("121212-2", "Client2_Trans2", "2016-07-01 01.36.15"),
    ];
    let invoice = |(number, transaction, date): &(&str, &str, &str)| {
        Item::from([("InvoiceNumber", s(number)), ("ClientTransactionId", s(transaction)), ("InvoiceDate", s(date))])
    };
    TableBuilder::new("Invoices", ("InvoiceNumber", STRING), Some(("ClientTransactionId", STRING)))
        .with(INVOICES.iter().map(invoice).collect())
}

/// Its index is sharded by a random prefix; beside it stands the skewed variant, the country alone.
fn invoice_transactions() -> Option<SampleTable> {
    const TRANSACTIONS: &[(&str, &str, u32, &str, u32, &str)] = &[
        ("121212", "2018-05-17 T1", 1, "USA", 10_000, "USD"),
        ("121213", "2018-04-01 T2", 2, "USA", 500_000, "USD"),
        ("121214", "2018-04-01 T2", 3, "FRA", 500_000, "EUR"),
    ];
    let transaction = |(number, billing, prefix, country, total, currency): &(&str, &str, u32, &str, u32, &str)| {
        Item::from([
            ("InvoiceNumber", s(number)),
            ("Element", s("Maestrelement")),
            ("BillingDate", s(billing)),
            ("RandomPrefix", n(*prefix)),
            ("Country", s(country)),
            ("Total", n(*total)),
            ("Currency", s(currency)),
        ])
    };
    let sharded = [("RandomPrefix", NUMBER), ("Country", STRING)];
    TableBuilder::new("InvoiceTransactions", ("InvoiceNumber", STRING), Some(("Element", STRING)))
        .index(IndexKind::Global, "PrefixCountryIndex", &sharded, (ProjectionType::All, &[]))
        .index(IndexKind::Global, "CountryIndex", &[("Country", STRING)], (ProjectionType::KeysOnly, &[]))
        .with(TRANSACTIONS.iter().map(transaction).collect())
}

/// The anti-pattern: a sequence number carried over as partition key, every access through an index.
fn orders_by_sequence() -> Option<SampleTable> {
    const ORDERS: &[(&str, &str, &str)] = &[
        ("1111111", "Cliente1-1", "2016-05-17 01.36.45"),
        ("1111112", "Cliente1-2", "2016-05-18 01.36.30"),
        ("1111113", "Cliente2-1", "2016-05-18 01.36.30"),
    ];
    let order = |(id, order, date): &(&str, &str, &str)| {
        Item::from([("TransactionID", s(id)), ("OrderID", s(order)), ("Order_Date", s(date))])
    };
    let by_order = [("OrderID", STRING), ("Order_Date", STRING)];
    TableBuilder::new("OrdersBySequence", ("TransactionID", STRING), None)
        .index(IndexKind::Global, "OrderIndex", &by_order, (ProjectionType::KeysOnly, &[]))
        .with(ORDERS.iter().map(order).collect())
}

/// The partition key is composed of customer, product and country.
fn orders() -> Option<SampleTable> {
    const ORDERS: &[(&str, &str, u32)] = &[
        ("c1#bicycle#BRA", "2016-05-17", 1),
        ("c1#bicycle#BRA", "2016-06-02", 2),
        ("c1#bicycle#BRA", "2016-11-30", 1),
        ("c1#helmet#BRA", "2016-05-17", 4),
        ("c2#bicycle#USA", "2016-05-18", 1),
    ];
    let order = |(key, date, quantity): &(&str, &str, u32)| {
        Item::from([("CustomerProductCountry", s(key)), ("OrderDate", s(date)), ("Quantity", n(*quantity))])
    };
    TableBuilder::new("Orders", ("CustomerProductCountry", STRING), Some(("OrderDate", STRING)))
        .with(ORDERS.iter().map(order).collect())
}

/// One price is no number: an index on Price cannot hold item 999.
fn product_catalog() -> Option<SampleTable> {
    const PRICES: &[(u32, u32)] = &[(101, 2), (102, 20), (103, 200), (201, 100), (202, 200), (203, 300), (204, 400), (205, 500)];
    let product = |(id, price): &(u32, u32)| Item::from([("Id", n(*id)), ("Price", n(*price))]);
    let greeting = Item::from([("Id", n(999)), ("Price", s("Hello"))]);
    let items = PRICES.iter().map(product).chain([greeting]).collect();
    TableBuilder::new("ProductCatalog", ("Id", NUMBER), None).with(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_there() {
        let tables = sample_tables();
        let names: Vec<&str> = tables.iter().map(|(request, _)| request.table_name.as_str()).collect();
        let expected = [
            "GameScores",
            "Thread",
            "Pets",
            "PetsByType",
            "Invoices",
            "InvoiceTransactions",
            "OrdersBySequence",
            "Orders",
            "ProductCatalog",
        ];
        assert_eq!(names, expected);
        assert!(tables.iter().all(|(_, items)| items.len() >= 3));
    }
}
