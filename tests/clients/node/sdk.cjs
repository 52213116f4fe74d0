// Drives the server with the JavaScript SDK, version 3: tables, items, pages, batches, transactions, errors, streams.
'use strict';

const {
  ConditionalCheckFailedException, CreateTableCommand, DeleteTableCommand, DescribeTableCommand, DynamoDBClient, ListTablesCommand,
  PutItemCommand, ResourceNotFoundException, TransactionCanceledException, UpdateTableCommand, waitUntilTableExists,
  waitUntilTableNotExists,
} = require('@aws-sdk/client-dynamodb');
const { DescribeStreamCommand, DynamoDBStreamsClient, GetRecordsCommand, GetShardIteratorCommand, ListStreamsCommand } =
  require('@aws-sdk/client-dynamodb-streams');
const {
  BatchGetCommand, BatchWriteCommand, DeleteCommand, DynamoDBDocumentClient, ExecuteStatementCommand, GetCommand, NumberValue, PutCommand, QueryCommand,
  ScanCommand, TransactGetCommand, TransactWriteCommand, UpdateCommand, paginateQuery, paginateScan,
} = require('@aws-sdk/lib-dynamodb');
const { check, run } = require('./checks.cjs');

const TableName = 'Scores';

run(async (endpoint) => {
  const config = { endpoint, region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' }, maxAttempts: 1 };
  const client = new DynamoDBClient(config);
  const documents = DynamoDBDocumentClient.from(client);
  await tables(client);
  const exact = DynamoDBDocumentClient.from(new DynamoDBClient(config), { unmarshallOptions: { wrapNumbers: true } });
  await items(documents, exact);
  await pages(documents);
  await batches(documents);
  await transactions(documents);
  await statements(documents);
  await errors(client, documents);
  await streams(new DynamoDBStreamsClient(config));
  await client.send(new DeleteTableCommand({ TableName }));
  await waitUntilTableNotExists({ client, maxWaitTime: 60 }, { TableName });
  check('no tables', (await client.send(new ListTablesCommand({}))).TableNames, []);
});

async function tables(client) {
  const created = await client.send(new CreateTableCommand({
    TableName,
    AttributeDefinitions: ['User', 'Title', 'Score'].map((AttributeName) => ({
      AttributeName, AttributeType: AttributeName === 'Score' ? 'N' : 'S',
    })),
    KeySchema: [{ AttributeName: 'User', KeyType: 'HASH' }, { AttributeName: 'Title', KeyType: 'RANGE' }],
    GlobalSecondaryIndexes: [{
      IndexName: 'ByTitle',
      KeySchema: [{ AttributeName: 'Title', KeyType: 'HASH' }, { AttributeName: 'Score', KeyType: 'RANGE' }],
      Projection: { ProjectionType: 'KEYS_ONLY' },
    }],
    BillingMode: 'PAY_PER_REQUEST',
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
  }));
  check('creation is a date', created.TableDescription.CreationDateTime instanceof Date, true);
  await waitUntilTableExists({ client, maxWaitTime: 60 }, { TableName });
  await client.send(new UpdateTableCommand({ TableName, TableClass: 'STANDARD_INFREQUENT_ACCESS' }));
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  check('class', Table.TableClassSummary.TableClass, 'STANDARD_INFREQUENT_ACCESS');
  check('tables', (await client.send(new ListTablesCommand({ Limit: 5 }))).TableNames, [TableName]);
}

async function items(documents, exact) {
  const Item = {
    User: 'u', Title: 'All types', flag: true, nothing: null, list: [1, 'two', { three: [3.5] }], map: { a: { b: 'c' } },
    bytes: new Uint8Array([0, 255, 1]), words: new Set(['a', 'b']), numbers: new Set([1, 2]),
  };
  const Key = { User: 'u', Title: 'All types' };
  await documents.send(new PutCommand({ TableName, Item }));
  check('types', (await documents.send(new GetCommand({ TableName, Key, ConsistentRead: true }))).Item, Item);
  const many = '12345678901234567890123456789012345678';
  const updated = await documents.send(new UpdateCommand({
    TableName, Key, UpdateExpression: 'SET #m.a.d = :d, big = :big REMOVE flag ADD words :more', ReturnValues: 'UPDATED_NEW',
    ExpressionAttributeNames: { '#m': 'map' },
    ExpressionAttributeValues: { ':d': 'e', ':big': NumberValue.from(many), ':more': new Set(['z']) },
  }));
  check('updated', [updated.Attributes.map, updated.Attributes.words], [{ a: { d: 'e' } }, new Set(['a', 'b', 'z'])]);
  check('38 digits', (await exact.send(new GetCommand({ TableName, Key }))).Item.big.value, many);
  const deleted = await documents.send(new DeleteCommand({ TableName, Key, ReturnValues: 'ALL_OLD' }));
  check('deleted', [deleted.Attributes.flag, deleted.Attributes.list], [undefined, Item.list]);
  check('gone', (await documents.send(new GetCommand({ TableName, Key }))).Item, undefined);
}

async function pages(documents) {
  for (let score = 0; score < 25; score += 1) {
    await documents.send(new PutCommand({ TableName, Item: { User: `u${score % 2}`, Title: `T${score % 5}`, Score: score, n: score } }));
  }
  const query = {
    TableName, IndexName: 'ByTitle', KeyConditionExpression: 'Title = :t AND Score > :s', ScanIndexForward: false,
    ExpressionAttributeValues: { ':t': 'T3', ':s': 3 },
  };
  const scores = [];
  let count = 0;
  for await (const page of paginateQuery({ client: documents, pageSize: 1 }, { ...query })) {
    scores.push(...page.Items.map((item) => item.Score));
    count += 1;
  }
  // Ten keys are written, each twice or thrice; the last put of each stays: 23 and 18 for T3.
  check('query pages', [scores, count], [[23, 18], 3]);
  const page = await documents.send(new QueryCommand({ ...query, Limit: 1, ReturnConsumedCapacity: 'INDEXES' }));
  check('page', [page.Count, page.LastEvaluatedKey], [1, { User: 'u1', Title: 'T3', Score: 23 }]);
  check('units', page.ConsumedCapacity.GlobalSecondaryIndexes, { ByTitle: { CapacityUnits: 0.5 } });
  let scanned = 0;
  for await (const part of paginateScan({ client: documents, pageSize: 3 }, { TableName })) {
    scanned += part.Count;
  }
  check('scan pages', scanned, 10);
  const filtered = await documents.send(new ScanCommand({
    TableName, FilterExpression: 'n >= :n', ExpressionAttributeValues: { ':n': 23 },
  }));
  check('filter', [filtered.Items.map((item) => item.n).sort(), filtered.ScannedCount], [[23, 24], 10]);
}

async function batches(documents) {
  const puts = ['a', 'b'].map((Title) => ({ PutRequest: { Item: { User: 'batch', Title } } }));
  const written = await documents.send(new BatchWriteCommand({ RequestItems: { [TableName]: puts } }));
  check('all written', written.UnprocessedItems, {});
  const Keys = ['a', 'b', 'c'].map((Title) => ({ User: 'batch', Title }));
  const found = await documents.send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys } } }));
  check('batch', found.Responses[TableName].map((item) => item.Title).sort(), ['a', 'b']);
}

async function transactions(documents) {
  const Key = { User: 'batch', Title: 'a' };
  await documents.send(new TransactWriteCommand({
    ClientRequestToken: 'once',
    TransactItems: [
      { Update: { TableName, Key, UpdateExpression: 'SET v = :v', ExpressionAttributeValues: { ':v': 1 } } },
      { Delete: { TableName, Key: { ...Key, Title: 'b' } } },
      { Put: { TableName, Item: { ...Key, Title: 'c' }, ConditionExpression: 'attribute_not_exists(Title)' } },
    ],
  }));
  const Gets = ['a', 'b'].map((Title) => ({ Get: { TableName, Key: { ...Key, Title } } }));
  const read = await documents.send(new TransactGetCommand({ TransactItems: Gets }));
  check('transaction', read.Responses.map((response) => response.Item), [{ ...Key, v: 1 }, undefined]);
  const cancelled = documents.send(new TransactWriteCommand({
    TransactItems: [
      { Put: { TableName, Item: { User: 'never', Title: 'never' } } },
      { ConditionCheck: {
        TableName, Key, ConditionExpression: 'v > :v', ExpressionAttributeValues: { ':v': 1 }, ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      } },
    ],
  }));
  const error = await cancelled.catch((failure) => failure);
  check('cancelled', error instanceof TransactionCanceledException, true);
  check('reasons', error.CancellationReasons.map((reason) => reason.Code), ['None', 'ConditionalCheckFailed']);
  check('item of the reason', error.CancellationReasons[1].Item, { User: { S: 'batch' }, Title: { S: 'a' }, v: { N: '1' } });
}

async function statements(documents) {
  const run = (Statement, ...Parameters) => documents.send(new ExecuteStatementCommand({ Statement, Parameters }));
  await documents.send(new ExecuteStatementCommand({ Statement: `INSERT INTO ${TableName} VALUE {'User': 'sql', 'Title': 'a', 'v': 1}` }));
  const found = await run(`SELECT v FROM ${TableName} WHERE "User" = ? AND Title = ?`, 'sql', 'a');
  check('selected', found.Items, [{ v: 1 }]);
}

async function errors(client, documents) {
  const failure = (promise) => promise.then(() => 'accepted', (error) => error);
  const none = await failure(documents.send(new GetCommand({ TableName: 'None', Key: { User: 'u', Title: 't' } })));
  check('no table', [none instanceof ResourceNotFoundException, none.$metadata.httpStatusCode], [true, 400]);
  check('request id', /^[0-9A-Z]{52}$/.test(none.$metadata.requestId), true);
  const Item = { User: 'batch', Title: 'a' };
  const condition = { ConditionExpression: 'attribute_not_exists(Title)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' };
  const taken = await failure(client.send(new PutItemCommand({
    TableName, Item: { User: { S: 'batch' }, Title: { S: 'a' } }, ...condition,
  })));
  check('condition', [taken instanceof ConditionalCheckFailedException, taken.Item.v], [true, { N: '1' }]);
  const wrong = await failure(documents.send(new PutCommand({ TableName, Item: { ...Item, Score: 'many' } })));
  const text = 'Type mismatch for Index Key Score Expected: N Actual: S IndexName: ByTitle';
  check('validation', [wrong.name, wrong.message.endsWith(text)], ['ValidationException', true]);
}

async function streams(client) {
  const { Streams } = await client.send(new ListStreamsCommand({ TableName }));
  const { StreamArn } = Streams[0];
  const { StreamDescription } = await client.send(new DescribeStreamCommand({ StreamArn }));
  const { ShardId } = StreamDescription.Shards[0];
  const start = await client.send(new GetShardIteratorCommand({ StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' }));
  const { Records } = await client.send(new GetRecordsCommand({ ShardIterator: start.ShardIterator, Limit: 3 }));
  check('records', Records.map((record) => record.eventName), ['INSERT', 'MODIFY', 'REMOVE']);
  check('image', Records[1].dynamodb.NewImage.map, { M: { a: { M: { b: { S: 'c' }, d: { S: 'e' } } } } });
}
