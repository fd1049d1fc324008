// @ts-check
// Tests this client with the project's test vectors: node check.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Keep } from "./keep.mjs";
import { sign } from "./venue.mjs";

/** @param {string} name */
const vectors = (name) => JSON.parse(readFileSync(new URL(`../../schemas/vectors/${name}`, import.meta.url), "utf8"));

const signing = vectors("signing.json");
for (const v of signing) assert.equal(await sign(v.secret, v.timestamp, v.method, v.target, v.body), v.signature, v.name);

const { steps } = vectors("ws_resume.json");
/** @type {string[]} */
let events = [];
const keep = new Keep(1, (seq, e) => events.push(`${seq} ${e.event}`));
/** The command that the client would send next. @type {ReturnType<Keep["take"]>} */
let next = keep.begin();
for (const { client, venue, cut, expect } of steps) {
  if (client) {
    assert.deepEqual(next, client);
    next = undefined;
  }
  if (venue) {
    assert.equal(next, undefined, "an unnecessary command");
    next = keep.take(venue);
  }
  if (cut) {
    assert.equal(next, cut === "client" ? "resume" : undefined);
    keep.ended();
    next = keep.begin();
  }
  if (expect) {
    const { seq, cash, reserved, orders, positions } = keep.account;
    const held = [...positions.values()].map(({ market_id, yes_qty, no_qty }) => ({ market_id, yes_qty, no_qty }));
    assert.deepEqual({ seq, cash, reserved, orders: [...orders.keys()], positions: held }, expect.account, expect.why);
    assert.deepEqual(keep.book, expect.book, expect.why);
    assert.deepEqual(events, expect.events, expect.why);
    events = [];
  }
}
console.log(`${signing.length} signatures and ${steps.length} steps of a resumed stream match the vectors`);
