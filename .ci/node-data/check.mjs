// Reads an export with DuckDB, which has a Parquet reader of its own, and compares it with the
// database that it was made of and with what the venue says of its money.
//
//   check.mjs rows DATABASE FOLDER [GUIDE]   every table, column by column; with GUIDE its queries too
//   check.mjs money STATE FOLDER             the sums of GET /admin/state, of an export up to its seq
//
// FOLDER has exports of all tables, Parquet or CSV, one or one of each day. CODEC is the codec that all
// columns must have. COMPLETE is the only day that is complete.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import duckdb from '@duckdb/node-api'

const [what, source, folder, guide] = process.argv.slice(2)
const duck = await (await duckdb.DuckDBInstance.create(':memory:')).connect()
const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))

for (const f of manifest.files) {
  assert.equal(createHash('sha256').update(readFileSync(join(folder, f.name))).digest('hex'), f.sha256, f.name)
}
const tables = Map.groupBy(manifest.files, f => f.table)
const csv = manifest.files[0].name.endsWith('.csv')
if (process.env.COMPLETE !== undefined) {
  for (const f of manifest.files) assert.equal(f.complete, f.day !== '' && f.day === process.env.COMPLETE, `${f.name} is complete`)
}

// relation returns the rows of a table, for a FROM clause of DuckDB.
function relation(table) {
  const files = JSON.stringify(tables.get(table).map(f => join(folder, f.name))).replaceAll('"', "'")
  return csv ? `read_csv(${files}, header = true, all_varchar = true, nullstr = '')` : `read_parquet(${files})`
}

async function rows(sql) {
  const r = await duck.runAndReadAll(sql)
  return { names: r.columnNames(), types: r.columnTypes().map(String), rows: r.getRows() }
}

const one = async sql => (await rows(sql)).rows[0]

if (process.env.CODEC) {
  const paths = JSON.stringify(manifest.files.map(f => join(folder, f.name))).replaceAll('"', "'")
  assert.deepEqual((await rows(`SELECT DISTINCT compression FROM parquet_metadata(${paths})`)).rows, [[process.env.CODEC]], 'codec')
}

// Sums are compared modulo a prime, because those of all times of a table exceed 64 bits.
const prime = 1_000_000_007n

async function checkRows() {
  const db = new DatabaseSync(source, { readOnly: true })
  const ask = (sql, ...args) => { const s = db.prepare(sql); s.setReadBigInts(true); return s.all(...args) }
  let total = 0n, compared = 0, money = 0, times = 0
  const names = ask("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('cursor', 'schema_version') AND name NOT LIKE 'sqlite%' ORDER BY 1").map(t => t.name)
  for (const table of names) {
    const [{ n }] = ask(`SELECT count(*) n FROM "${table}"`)
    if (!tables.has(table)) {
      assert.equal(n, 0n, `${table} has no file`)
      continue
    }
    const listed = tables.get(table).reduce((sum, f) => sum + BigInt(f.rows), 0n)
    assert.deepEqual([await one(`SELECT count(*) FROM ${relation(table)}`), listed], [[n], n], `rows of ${table}`)
    total += n
    const described = (await rows(`DESCRIBE SELECT * FROM ${relation(table)}`)).rows
    const types = new Map(described.map(([name, type]) => [name, type]))
    const columns = ask(`PRAGMA table_info("${table}")`)
    for (const { name, type } of columns) {
      const type2 = types.get(name)
      assert(type2, `${table}.${name} is not in the export`)
      types.delete(name)
      let in1, in2 // the column as text or a number of 64 bits with a sign, in SQLite and in DuckDB
      let value1 = `"${name}"`
      if (type === 'TEXT') { // an empty text is null in a file
        value1 = `nullif("${name}", '')`
        ;[in1, in2] = [`length(${value1})`, `length("${name}")`]
      } else {
        in1 = `("${name}" % ${prime})`
        const number = csv ? `CASE "${name}" WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE CAST("${name}" AS HUGEINT) END`
          : type2 === 'TIMESTAMP_NS' ? `epoch_ns("${name}")::HUGEINT` : `"${name}"::HUGEINT`
        in2 = `(CASE WHEN ${number} >= 9223372036854775808 THEN ${number} - 18446744073709551616 ELSE ${number} END % ${prime})`
      }
      const [x] = ask(`SELECT count(${value1}) n, coalesce(sum(${in1}), 0) s, coalesce(min(${in1}), 0) a, coalesce(max(${in1}), 0) b, count(DISTINCT ${value1}) d FROM "${table}"`)
      const y = await one(`SELECT count("${name}"), coalesce(sum(${in2}), 0), coalesce(min(${in2}), 0), coalesce(max(${in2}), 0), count(DISTINCT "${name}") FROM ${relation(table)}`)
      assert.deepEqual(y.map(BigInt), [x.n, x.s, x.a, x.b, x.d], `${table}.${name}`)
      if (csv && name.endsWith('ts')) {
        assert(types.delete(name + '_iso'), `${table}.${name}_iso is not in the export`)
        const other = `SELECT count(*) FROM ${relation(table)} WHERE CASE WHEN CAST("${name}" AS BIGINT) = 0 THEN "${name}_iso" IS NOT NULL
          ELSE "${name}_iso" NOT LIKE '%.%Z' OR length("${name}_iso") <> 30 OR epoch_ns(CAST(rtrim("${name}_iso", 'Z') AS TIMESTAMP_NS)) IS DISTINCT FROM CAST("${name}" AS BIGINT) END`
        assert.deepEqual(await one(other), [0n], `${table}.${name}_iso`)
        times++
      }
      compared++
      if (types.has(name + '_usd')) {
        const [sum, pips] = await one(`SELECT CAST(sum(CAST("${name}_usd" AS DECIMAL(18, 4))) * 10000 AS HUGEINT), sum(CAST("${name}" AS HUGEINT)) FROM ${relation(table)}`)
        const [{ s }] = ask(`SELECT sum("${name}") s FROM "${table}"`)
        assert.deepEqual([sum, pips], [s, s], `${table}.${name}_usd`)
        types.delete(name + '_usd')
        money++
      }
    }
    assert.deepEqual([...types.keys()], [], `columns of ${table}`)
  }
  assert.equal(BigInt(manifest.rows), total, 'rows of the manifest')
  console.log(`${total} rows of ${tables.size} tables, ${compared} columns, ${money} of them money${csv ? `, ${times} times also in RFC 3339` : ''}: equal in DuckDB and SQLite`)
  if (guide) await checkQueries(ask)
}

// checkQueries runs the queries of the guide in both databases and compares the results with each
// other, and for the recorded run with the guide.
async function checkQueries(ask) {
  const page = readFileSync(guide, 'utf8')
  const blocks = new Map([...page.matchAll(/^```(sql|text) (\w+)\n(.*?)^```$/gms)].map(([, kind, name, text]) => [`${kind} ${name}`, text]))
  for (const view of blocks.get('sql duckdb').split(';\n').filter(s => s.trim())) {
    await duck.run(view.replaceAll("'data/parquet/", `'${folder}/`))
  }
  let queries = 0
  for (const [key, sql] of blocks) {
    if (!key.startsWith('sql ') || key === 'sql duckdb') continue
    const got = await rows(sql)
    const real = got.types.map(t => t === 'DOUBLE')
    const cells = got.rows.map(row => row.map((v, i) => real[i] && Number.isInteger(v) ? v.toFixed(1) : String(v)))
    const same = ask(sql).map(row => Object.values(row).map(v => typeof v === 'number' && Number.isInteger(v) ? v.toFixed(1) : String(v)))
    // The databases round a half differently: a rounded figure may differ by one in its last digit.
    const near = (x, y) => x === y || Math.abs(x - y) < 1.5 * 10 ** -Math.max(...[x, y].map(v => v.split('.')[1]?.length ?? 0))
    const last = same.map((row, n) => row.map((v, i) => real[i] && near(v, cells[n]?.[i] ?? 'none') ? cells[n][i] : v))
    assert.deepEqual(cells, last, key)
    if (process.env.RECORDED) {
      const shown = blocks.get(key.replace('sql', 'text')).trimEnd().split('\n').map(line => line.trim().split(/ +/))
      assert.deepEqual([got.names, ...cells], shown, key)
    }
    queries++
  }
  assert(queries >= 4, 'queries of the guide')
  console.log(`${queries} queries of the guide: equal in DuckDB and SQLite${process.env.RECORDED ? ', and in the guide' : ''}`)
}

// checkMoney computes every sum of the venue's state from the rows of the ledger.
async function checkMoney() {
  const state = JSON.parse(readFileSync(source, 'utf8'))
  assert.equal(manifest.to_seq, state.seq, 'the last seq of the export')
  assert.equal(manifest.from_seq, '1', 'the first seq of the export')
  const sum = async kinds => (await one(`SELECT coalesce(sum(amount), 0) FROM ${relation('ledger')} WHERE kind IN (${kinds.map(k => `'${k}'`)})`))[0]
  const [held] = await one(`SELECT coalesce(sum(last), 0) FROM (SELECT arg_max(balance_after, n) AS last FROM ${relation('ledger')} GROUP BY user_id)`)
  const [all] = await one(`SELECT sum(amount) FROM ${relation('ledger')}`)
  const want = k => BigInt(state[k])
  const pairs = {
    'cash + reserved, by balance_after': [held, want('cash') + want('reserved')],
    'cash + reserved, by amount': [all, want('cash') + want('reserved')],
    deposits: [await sum(['deposit']), want('deposits')],
    withdrawals: [-await sum(['withdrawal', 'withdrawal_returned']), want('withdrawals')],
    fees: [-await sum(['fee', 'rebate', 'referral']), want('fees')],
    collateral: [-await sum(['fill', 'redeem', 'settlement', 'void']), want('collateral')],
  }
  for (const [name, [got, expected]] of Object.entries(pairs)) {
    assert.equal(got, expected, name)
    console.log(`${name}: ${got} pips`)
  }
  for (const kind of ['rebate', 'referral', 'withdrawal_returned', 'void', 'settlement']) assert(await sum([kind]) !== 0n, `no row of the kind ${kind}`)
  const transfers = await sum(['transfer'])
  assert.equal(transfers, 0n, 'transfers')
  assert(want('fees') > 0n && want('cash') > 0n, 'nothing was traded')
}

await (what === 'rows' ? checkRows() : checkMoney())
