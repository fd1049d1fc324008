import type { Fill, LedgerRow, Order, RoundResult, U64 } from '../venue/wire.ts'

// Lists as RFC 4180, with money in dollars and times in UTC. No number has thousands separators.

type Name = (category: number) => string

// usd formats pips exactly: "-1.2345".
function usd(pips: U64 | number): string {
  const n = BigInt(pips)
  const abs = n < 0n ? -n : n
  return `${n < 0n ? '-' : ''}${abs / 10000n}.${String(abs % 10000n).padStart(4, '0')}`
}

const utc = (ts: U64): string => new Date(Number(BigInt(ts) / 1_000_000n)).toISOString()

// words is text for a cell. What a spreadsheet would take for a formula has an apostrophe before it.
const words = (v: string): string => (/^[=+\-@\t\r]/.test(v) ? `'${v}` : v)

const cell = (v: string | number): string => (/[",\r\n]/.test(String(v)) ? `"${String(v).replaceAll('"', '""')}"` : String(v))

const csv = (head: string, rows: (string | number)[][]): string => [head, ...rows.map((r) => r.map(cell).join(','))].join('\r\n') + '\r\n'

export function ledgerCsv(rows: readonly LedgerRow[], name: Name): string {
  return csv('n,time_utc,kind,amount_usd,balance_after_usd,series,round,order_id,reference', rows.map((r) => [
    r.n, utc(r.ts), r.kind, usd(r.amount), usd(r.balance_after), r.category ? words(name(r.category)) : '', r.round_number ?? '', r.order_id ?? '', words(r.ref ?? ''),
  ]))
}

export function fillsCsv(rows: readonly Fill[], name: Name): string {
  return csv('n,time_utc,series,round,side,outcome,price_usd,contracts,fee_usd,role,path,order_id,client_order_id', rows.map((f) => [
    f.n, utc(f.ts), words(name(f.category)), f.round_number, f.side, f.outcome, usd(f.outcome === 'yes' ? f.tick_yes : 10000 - f.tick_yes), f.qty, usd(f.fee), f.role, f.path, f.order_id, f.client_order_id,
  ]))
}

// ordersCsv names the series of an order by nameOf: an order has its slot only.
export function ordersCsv(rows: readonly Order[], nameOf: (o: Order) => string): string {
  return csv('time_utc,series,side,outcome,type,price_usd,contracts,filled,time_in_force,status,reason,order_id,client_order_id', rows.map((o) => [
    utc(o.created_ts), words(nameOf(o)), o.side, o.outcome, o.type, usd(o.tick), o.qty, o.filled_qty, o.tif, o.status, words(o.reason), o.order_id ?? '', o.client_order_id,
  ]))
}

export function roundsCsv(rows: readonly RoundResult[], name: Name): string {
  return csv('round,series,status,winner,bought_yes,bought_no,sold_yes,sold_no,redeemed,paid_usd,received_usd,payout_usd,fees_usd,profit_usd', rows.map((r) => [
    r.round_number, words(name(r.category)), r.status, r.winner ?? '', r.bought_yes, r.bought_no, r.sold_yes, r.sold_no, r.redeemed, usd(r.paid), usd(r.received), usd(r.payout), usd(r.fees), r.profit === null ? '' : usd(r.profit),
  ]))
}
