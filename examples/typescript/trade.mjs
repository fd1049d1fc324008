// @ts-check
// Places an order over REST, sees it on the event lane, loses the connection, cancels the
// order meanwhile, and learns of it by resuming: node --experimental-websocket trade.mjs
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Keep } from "./keep.mjs";
import { follow } from "./live.mjs";
import { call } from "./venue.mjs";

/** Returns DX_URL, DX_KEY and DX_SECRET, or else the first account of the file that dx dev writes. */
function here() {
  const { DX_URL: url, DX_KEY: key, DX_SECRET: secret, DX_DEV_FILE: file = ".dx/dev.json" } = process.env;
  if (url && key && secret) return { url, key, secret };
  const dev = JSON.parse(readFileSync(file, "utf8"));
  return { url: dev.api, key: dev.accounts[0].api_key, secret: dev.accounts[0].secret };
}

/** Formats pips as dollars. @param {string} pips */
const dollars = (pips) => `$${(Number(pips) / 10_000).toFixed(2)}`;

const heard = new EventTarget();

/** Waits until ok() is true. @param {string} what @param {() => boolean} ok */
async function until(what, ok) {
  const signal = AbortSignal.timeout(15_000);
  while (!ok()) await once(heard, "change", { signal }).catch(() => Promise.reject(new Error(`${what}: not within 15 s`)));
}

const venue = here();
const { markets } = await call(venue, "GET", "/v1/markets?status=trading");
markets.sort((/** @type {any} */ a, /** @type {any} */ b) => Number(BigInt(b.close_ts) - BigInt(a.close_ts)));
if (!markets.length) throw new Error("no market trades now; try again in a minute");
const market_id = markets[0].market_id;

/** @type {string[]} */
const events = [];
const keep = new Keep(market_id, (seq, e) => events.push(`${seq} ${e.event} ${e.order?.order_id} ${e.order?.status}`));
const stream = follow(venue, keep, () => heard.dispatchEvent(new Event("change")));
await until("book and account", () => keep.book !== null && keep.mark !== null);
console.log(`market    ${market_id}: best YES bid ${keep.book?.yes[0] ?? "none"}, best NO bid ${keep.book?.no[0] ?? "none"}`);
console.log(`account   ${dollars(keep.account.cash)} free, ${keep.account.orders.size} resting orders`);

// A bid of one cent for YES rests behind all others.
const order = { client_order_id: String(Date.now()), market_id, side: "buy", outcome: "yes", tick: 100, qty: 10, post_only: true };
const { order_id } = await call(venue, "POST", "/v1/portfolio/orders", order);
await until("the order", () => keep.account.orders.has(order_id));
console.log(`placed    ${order_id}; ${dollars(keep.account.reserved)} reserved`);

const last = keep.mark?.at;
stream.cut();
await until("the cut", () => keep.book === null);
const { seq } = await call(venue, "DELETE", `/v1/portfolio/orders/${order_id}`);
console.log(`canceled  ${order_id} at seq ${seq}, while the stream was disconnected after seq ${last}`);

await until("the cancel", () => !keep.account.orders.has(order_id) && keep.book !== null);
const times = events.filter((e) => e === `${seq} order ${order_id} canceled`).length;
console.log(`resumed   the cancel arrived ${times === 1 ? "once" : `${times} times`}; ${dollars(keep.account.cash)} free`);
stream.stop();
process.exitCode = times === 1 ? 0 : 1;
