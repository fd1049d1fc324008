// @ts-check
import { socket } from "./venue.mjs";

/**
 * Runs a Keep on the event lane over connections that end, and sends what it returns.
 * Calls `changed` after each message and at the end of each connection.
 * @param {import("./venue.mjs").Venue} venue @param {import("./keep.mjs").Keep} keep @param {() => void} changed
 */
export function follow(venue, keep, changed) {
  /** @type {WebSocket} */
  let ws;
  let stopped = false;
  let failed = 0; // consecutive connections without a message
  const open = async () => {
    ws = await socket(venue);
    let id = 0;
    const say = (/** @type {object} */ command) => ws.send(JSON.stringify({ id: ++id, ...command }));
    ws.onopen = () => say(keep.begin());
    ws.onmessage = ({ data }) => {
      failed = 0;
      const next = keep.take(JSON.parse(data));
      if (next === "resume") ws.close();
      else if (next) say(next);
      changed();
    };
    ws.onclose = () => {
      keep.ended();
      changed();
      if (!stopped) setTimeout(open, (0.5 + Math.random() / 2) * Math.min(200 * 2 ** failed++, 10_000));
    };
  };
  void open();
  const cut = () => ws.close();
  return { cut, stop: () => ((stopped = true), cut()) };
}
