// Starts dynamodb-admin on the sample tables of the server and uses its pages as a browser does.
'use strict';

const { spawn } = require('node:child_process');
const path = require('node:path');
const { check, run } = require('./checks.cjs');

run(async (endpoint) => {
  const program = path.join(path.dirname(require.resolve('dynamodb-admin')), 'dynamodb-admin.js');
  const admin = spawn(process.execPath, [program, '--host', '127.0.0.1', '--port', '0', '--dynamo-endpoint', endpoint]);
  try {
    await use(await address(admin));
  } finally {
    admin.kill();
  }
});

/** What it says that it listens on. */
function address(admin) {
  return new Promise((resolve, reject) => {
    let said = '';
    const hear = (text) => {
      said += text;
      const found = /listening on (http:\/\/[0-9.:]+)/.exec(said);
      if (found) resolve(found[1]);
    };
    admin.stdout.on('data', hear);
    admin.stderr.on('data', hear);
    admin.on('exit', () => reject(new Error(`dynamodb-admin ended: ${said}`)));
  });
}

async function use(base) {
  const page = async (name, from, ...parts) => {
    const response = await fetch(base + from);
    const text = await response.text();
    check(`${name}: status`, response.status, 200);
    parts.forEach((part) => check(`${name}: ${part}`, text.includes(part), true));
  };
  const json = async (from, options) => (await fetch(base + from, options)).json();

  await page('tables', '/', 'GameScores', 'Pets', 'Thread');
  await page('table', '/tables/GameScores', '[Index] GameTitleIndex: GameTitle, TopScore');
  await page('get', '/tables/Pets/get', 'AnimalType', 'Name');
  await page('meta', '/tables/Thread/meta', 'LastPostIndex', 'ForumName');
  await page('item', '/tables/GameScores/items/101,Galaxy%20Invaders', '5842', '2015-09-15:17:24:31');
  check('no item', (await fetch(`${base}/tables/Pets/items/Dog,Nobody`)).status, 404);

  const described = await json('/api/tables');
  check('keys', described.find((table) => table.TableName === 'Pets').KeySchema.map((key) => key.AttributeName), ['AnimalType', 'Name']);
  const first = await json('/tables/GameScores/items?pageSize=9');
  check('first page', [first.Items.length, first.uniqueKeys.slice(0, 2), first.nextKey !== null], [9, ['UserId', 'GameTitle'], true]);
  const second = await json(`/tables/GameScores/items?pageSize=9&startKey=${first.nextKey}`);
  check('second page', [second.Items.length, second.nextKey], [4, null]);
  const filters = (value) => encodeURIComponent(JSON.stringify(value));
  const query = filters({ GameTitle: { type: 'S', operator: '=', value: 'Meteor Blasters' }, TopScore: { type: 'N', operator: '>', value: '800' } });
  const found = await json(`/tables/GameScores/items?operationType=query&queryableSelection=GameTitleIndex&filters=${query}`);
  check('query of an index', found.Items.map((item) => [item.UserId, item.TopScore]), [['101', 1000]]);
  const filter = filters({ Wins: { type: 'N', operator: '>=', value: '40' } });
  const scanned = await json(`/tables/GameScores/items?filters=${filter}`);
  check('filter', scanned.Items.map((item) => item.GameTitle), ['Galaxy Invaders']);

  const headers = { 'Content-Type': 'application/json' };
  const put = { method: 'PUT', headers, body: JSON.stringify({ AnimalType: 'Bird', Name: 'Polly', Age: 3 }) };
  check('added', await json('/tables/Pets/add-item', put), { AnimalType: 'Bird', Name: 'Polly' });
  const edit = { ...put, body: JSON.stringify({ AnimalType: 'Bird', Name: 'Polly', Age: 4 }) };
  check('edited', (await json('/tables/Pets/items/Bird,Polly', edit)).Age, 4);
  check('deleted', (await fetch(`${base}/tables/Pets/items/Bird,Polly`, { method: 'DELETE' })).status, 204);

  const definition = {
    TableDefinition: {
      TableName: 'Made', HashAttributeName: 'pk', HashAttributeType: 'S', RangeAttributeName: 'sk', RangeAttributeType: 'N',
      ReadCapacityUnits: 3, WriteCapacityUnits: 3,
    },
    SecondaryIndexes: [{
      IndexName: 'by-day', IndexType: 'global', HashAttributeName: 'day', HashAttributeType: 'S', ReadCapacityUnits: 1,
      WriteCapacityUnits: 1,
    }],
  };
  check('created', (await fetch(`${base}/create-table`, { method: 'POST', headers, body: JSON.stringify(definition) })).status, 204);
  await page('the new table', '/tables/Made', '[Index] by-day: day');
  check('purged', (await fetch(`${base}/tables/Pets/all`, { method: 'DELETE' })).status, 200);
  check('empty', (await json('/tables/Pets/items')).Items, []);
  check('dropped', (await fetch(`${base}/tables/Made`, { method: 'DELETE' })).status, 204);
  check('gone', (await json('/api/tables')).some((table) => table.TableName === 'Made' && table.TableStatus === 'ACTIVE'), false);
}
