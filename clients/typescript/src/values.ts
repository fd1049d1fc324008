// Checks and conversions of what callers pass.

const text = new TextEncoder();

/** Returns the signature in base64. secret is 64 hex characters; target is path and query as sent. */
export async function sign(secret: string, timestamp: string, method: string, target: string, body = ""): Promise<string> {
  const bytes = Uint8Array.from(secret.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, text.encode(`${timestamp}\n${method}\n${target}\n${body}`));
  return btoa(String.fromCharCode(...new Uint8Array(mac)));
}

/**
 * Returns the client_order_id of any text, as the venue takes it: digits up to 2^64-1 stay, without zeros in
 * front. Of another text it is the first 8 bytes of its SHA-256, big-endian, without the top bit. Throws TypeError
 * for an empty text, and for half of a surrogate pair, which is no text: all of these would have one id.
 */
export async function clientOrderId(id: string): Promise<string> {
  if (typeof id !== "string" || id === "") throw new TypeError("client_order_id: a text that is not empty");
  if (/\p{Surrogate}/u.test(id)) throw new TypeError("client_order_id: half of a surrogate pair");
  if (/^[0-9]+$/.test(id)) {
    const digits = id.replace(/^0+(?=.)/, "");
    if (digits.length <= 20 && BigInt(digits) < 2n ** 64n) return digits;
  }
  const hash = new DataView(await crypto.subtle.digest("SHA-256", text.encode(id)));
  return String(hash.getBigUint64(0) & (2n ** 63n - 1n));
}

/** Returns the base URL without a slash at its end. Throws TypeError if it is not http or https, host and port alone. */
export function baseUrl(url: string): string {
  const wrong = () => new TypeError(`url: ${JSON.stringify(url)} is not http or https with a host and an optional port, such as https://venue.example:8443`);
  if (!/^https?:\/\/[^/?#@%\\\s\x00-\x1f\x7f]*[^/?#@%\\\s\x00-\x1f\x7f:]\/?$/i.test(url)) throw wrong();
  try {
    const { origin, port } = new URL(url);
    if (port !== "0") return origin;
  } catch {}
  throw wrong();
}
