// @ts-check
// A client that signs requests with the web platform only: fetch, WebCrypto and WebSocket.
// The same file runs in Node and in a browser.

/** @typedef {{url: string, key: string, secret: string}} Venue url is the API's address; secret is 64 hex characters. */

/** A response of the venue other than 2xx. */
export class VenueError extends Error {
  /** @param {number} status @param {{code: string, details: {retry_after_ms?: string} | null}} error */
  constructor(status, error) {
    super(`${error.code} (${status})`);
    this.code = error.code;
    this.details = error.details;
  }
}

const text = new TextEncoder();

/** @param {string} hex */
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/**
 * Returns the signature: the base64 of HMAC-SHA256 over timestamp, method, target as sent,
 * and body.
 * @param {string} secret @param {string} timestamp @param {string} method @param {string} target @param {string} [body]
 */
export async function sign(secret, timestamp, method, target, body = "") {
  const key = await crypto.subtle.importKey("raw", bytes(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, text.encode(`${timestamp}\n${method}\n${target}\n${body}`));
  return btoa(String.fromCharCode(...new Uint8Array(mac)));
}

/**
 * Sends one request. Throws VenueError, or the error of fetch if there is no response. In that
 * case a write may still have happened.
 * @param {Venue} venue @param {string} method @param {string} target @param {object} [body]
 * @returns {Promise<any>}
 */
export async function call(venue, method, target, body) {
  const raw = body && JSON.stringify(body);
  const now = String(Date.now());
  /** @type {Record<string, string>} */
  const headers = { "DX-ACCESS-KEY": venue.key, "DX-ACCESS-TIMESTAMP": now, "DX-ACCESS-SIGNATURE": await sign(venue.secret, now, method, target, raw) };
  if (raw) headers["Content-Type"] = "application/json";
  const answer = await fetch(venue.url + target, { method, headers, body: raw, redirect: "error", signal: AbortSignal.timeout(15_000) });
  const out = await answer.json();
  if (!answer.ok) throw new VenueError(answer.status, out.error);
  return out;
}

/**
 * Opens the event lane. A browser cannot set headers on a WebSocket, so it offers key,
 * timestamp and signature as a subprotocol, with the signature in unpadded base64url. The
 * venue selects dx.v1.
 * @param {Venue} venue
 */
export async function socket(venue) {
  const now = String(Date.now());
  const mac = (await sign(venue.secret, now, "GET", "/v1/ws")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return new WebSocket(venue.url.replace(/^http/, "ws") + "/v1/ws", ["dx.v1", `dx.auth.${venue.key}.${now}.${mac}`]);
}
