// Signing: base64 of HMAC-SHA256 over timestamp, method, target and body, joined by line
// feeds. The key is a CryptoKey that cannot be exported.

export interface Credentials {
  id: string
  key: CryptoKey
  name: string
}

const bytes = new TextEncoder()

// importSecret makes a key of a secret, given as 64 hex characters. It throws otherwise.
export async function importSecret(hex: string): Promise<CryptoKey> {
  if (!/^[0-9a-f]{64}$/i.test(hex)) throw new Error('The secret must be 64 hex characters')
  const raw = Uint8Array.from(hex.match(/../g)!, (pair) => Number.parseInt(pair, 16))
  const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  raw.fill(0)
  return key
}

export function message(ts: string, method: string, target: string, body: string): string {
  return `${ts}\n${method.toUpperCase()}\n${target}\n${body}`
}

export async function sign(key: CryptoKey, ts: string, method: string, target: string, body = ''): Promise<string> {
  const mac = await crypto.subtle.sign('HMAC', key, bytes.encode(message(ts, method, target, body)))
  return btoa(String.fromCharCode(...new Uint8Array(mac)))
}

// subprotocols returns what a browser offers in the handshake, where it cannot set headers.
export async function subprotocols(c: Credentials, ts: string): Promise<string[]> {
  const mac = await sign(c.key, ts, 'GET', '/v1/ws')
  return ['dx.v1', `dx.auth.${c.id}.${ts}.${mac.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`]
}
