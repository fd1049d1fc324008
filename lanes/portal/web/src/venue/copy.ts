import type { Action } from './rest.ts'

// asCurl returns shell commands that sign the request anew and send it. They read the
// secret from DX_SECRET and do not contain it.
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

// asTool returns the same action as an MCP tool call.
export function asTool(a: Action): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: a.tool, arguments: a.args } })
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
