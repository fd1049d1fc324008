import type { Action } from './rest.ts'

// asCurl is a shell line that signs and sends the request anew. The secret is not in
// it: it comes from DX_SECRET.
export function asCurl(a: Action, base: string, keyId: string): string {
  const body = quoted(a.body)
  const lines = [
    `body=${body}; ts=$(date +%s%3N)`,
    `sig=$(printf '%s\\n%s\\n%s\\n%s' "$ts" ${a.method} ${quoted(a.target)} "$body" | openssl dgst -sha256 -mac HMAC -macopt hexkey:"$DX_SECRET" -binary | base64)`,
    `curl -sS -X ${a.method} ${quoted(base + a.target)} -H 'DX-ACCESS-KEY: ${keyId}' -H "DX-ACCESS-TIMESTAMP: $ts" -H "DX-ACCESS-SIGNATURE: $sig"`,
  ]
  if (a.body) lines[2] += ` -H 'Content-Type: application/json' --data-raw "$body"`
  return lines.join('\n')
}

// asTool is the same as a call of the agent lane.
export function asTool(a: Action): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: a.tool, arguments: a.args } })
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
