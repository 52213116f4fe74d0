// What the scripts share: the endpoint, the first argument, and checks that count; a run with a failed one exits with 1.
'use strict';

const assert = require('node:assert');

let count = 0;
const failures = [];

/** Notes a difference; the run goes on. */
function check(name, found, expected) {
  count += 1;
  try {
    assert.deepStrictEqual(found, expected);
  } catch (difference) {
    failures.push(`${name}: ${difference.message}`);
  }
}

/** Runs the scripts' steps and reports. */
async function run(main) {
  if (process.argv.length !== 3) {
    throw new Error('usage: node SCRIPT http://127.0.0.1:PORT');
  }
  await main(process.argv[2]);
  failures.forEach((failure) => console.log('FAILED', failure));
  console.log(`${count} checks, ${failures.length} failed`);
  process.exit(failures.length > 0 || count === 0 ? 1 : 0);
}

module.exports = { check, run };
