// @ts-check
// The tools of a venue (MCP), signed and sent with fetch. It works in the arena and on a live
// venue unchanged, because wait_for_event lets time pass in both.
import { sign } from "../../typescript/venue.mjs";
import { pause } from "./models.mjs";

/** @typedef {import("../../typescript/venue.mjs").Venue} Venue */

/** A call that the venue rejected. */
export class Rejected extends Error {
  /** @param {string} tool @param {any} result */
  constructor(tool, result) {
    super(`${tool}: ${result?.error?.code ?? "no result"}${result?.hint ? `: ${result.hint}` : ""}`);
    this.code = result?.error?.code;
    this.retryable = result?.retryable === true || result?.outcome === "unknown";
    this.afterMs = Number(result?.retry_after_ms ?? 250);
    this.result = result;
  }
}

export class Tools {
  /** @param {Venue} venue @param {AbortSignal} signal ends every call @param {{ tries?: number, timeoutMs?: number }} [limits] */
  constructor(venue, signal, { tries = 8, timeoutMs = 120_000 } = {}) {
    this.venue = venue;
    this.signal = signal;
    this.tries = tries;
    this.timeoutMs = timeoutMs; // in the arena longer than the turns of other seats
  }

  /**
   * Calls a tool. A call that is retryable, whose outcome is unknown or whose answer was lost is
   * repeated with the same arguments: an order has its client_order_id, so it cannot be placed
   * twice.
   * @param {string} name @param {Record<string, unknown>} [given] @returns {Promise<any>}
   */
  async use(name, given = {}) {
    for (let n = 1; ; n++) {
      try {
        return await this.once(name, given);
      } catch (e) {
        const again = !(e instanceof Rejected) || e.retryable;
        if (!again || n >= this.tries || this.signal.aborted) throw e;
        await pause(e instanceof Rejected ? e.afterMs : 250 * n, this.signal);
      }
    }
  }

  /**
   * Tells the arena what an answer of the model took. A live venue has no such route: it is not told.
   * @param {import("./decision.mjs").Usage} usage
   */
  async report(usage) {
    const answer = await this.send("/v1/arena/usage", usage);
    await answer.arrayBuffer();
    if (!answer.ok && answer.status !== 404) throw new Error(`status ${answer.status} of the venue`);
  }

  /** @param {string} name @param {Record<string, unknown>} given */
  async once(name, given) {
    const answer = await this.send("/v1/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } });
    const { result, error } = await answer.json();
    if (result && !result.isError) return result.structuredContent;
    // The data of an error of the protocol are the error of the venue.
    throw new Rejected(name, result?.structuredContent ?? { error: error?.data ?? error, retry_after_ms: error?.data?.details?.retry_after_ms, retryable: answer.status === 429 || answer.status === 503 });
  }

  /** Sends a signed request. @param {string} path @param {object} given */
  async send(path, given) {
    const { url, key, secret } = this.venue;
    const body = JSON.stringify(given);
    const now = String(Date.now()); // of the machine, also in the arena
    return fetch(`${url}${path}`, {
      method: "POST",
      headers: {
        "DX-ACCESS-KEY": key, "DX-ACCESS-TIMESTAMP": now, "DX-ACCESS-SIGNATURE": await sign(secret, now, "POST", path, body),
        "Content-Type": "application/json", Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25",
      },
      body, redirect: "error", signal: AbortSignal.any([this.signal, AbortSignal.timeout(this.timeoutMs)]),
    });
  }
}
