// Uses the TypeScript client as the conformance suite tells it: a JSON request a line, a JSON reply a line.
import { createInterface } from "node:readline";
import { Client, NotExecuted, Stream, UnknownOutcome, VenueError } from "duplex-client";

const state = { messages: 0, fills: [], disconnects: 0, late: 0, oldest_ms: 0, ended: "" };
let client, stream, market;
let pause = 0;

const result = async (call) => {
  try {
    await call();
  } catch (e) {
    if (e instanceof VenueError) return e.code || `status ${e.status}`;
    if (e instanceof UnknownOutcome) return "unknown";
    return e instanceof NotExecuted ? "refused" : "lost";
  }
  return "ok";
};

const now = Date.now.bind(Date);
const setClock = ({ clock_ms = 0 }) => {
  Date.now = () => now() + clock_ms;
  return { result: "ok" };
};

const open = ({ url, key, secret, ...clock }) => {
  setClock(clock);
  try {
    client = new Client(url, key, secret, { log: console.error });
  } catch (e) {
    if (e instanceof TypeError) return "url";
    throw e;
  }
  return "ok";
};

const follow = async ({ channels, market_ids = [], silence_ms }) => {
  market = market_ids[0];
  stream = new Stream(client, channels, market_ids, { ...(silence_ms && { silence: silence_ms }), onDisconnect: () => state.disconnects++, onLate: () => state.late++ });
  try {
    for await (const m of stream) {
      state.messages++;
      if (m.type === "user" && m.msg.event === "fill") state.fills.push(m.msg.order_id);
      if (m.type === "orderbook_delta") state.oldest_ms = Math.max(state.oldest_ms, Math.round(client.now() - Number(m.msg.ts) / 1e6));
      if (pause) await new Promise((done) => setTimeout(done, pause));
    }
  } catch (e) {
    state.ended = String(e);
  }
};

const answers = {
  open: (r) => ({ result: open(r) }),
  place: async (r) => ({ result: await result(() => client.place(r.order)) }),
  balance: async () => ({ result: await result(() => client.call("GET", "/v1/portfolio/balance")) }),
  stream: (r) => (follow(r), { result: "ok" }),
  clock: setClock,
  slow: (r) => ((pause = r.pause_ms ?? 0), { result: "ok" }),
  state: () => {
    const b = stream.book(market);
    return { result: "ok", ...state, book: b ? { seq: b.seq, yes: b.yes, no: b.no } : null };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const r = JSON.parse(line);
  console.log(JSON.stringify(await answers[r.do](r)));
}
process.exit(0);
