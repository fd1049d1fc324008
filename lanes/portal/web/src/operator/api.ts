import { lost, VenueError } from '../venue/rest.ts'
import { printable } from './text.ts'

const TIMEOUT_MS = 12_000 // without an answer a request counts as lost

// Api calls the operator's listener with the token of one operator. The token is nowhere but in
// this object: a reload of the page forgets it.
export class Api {
  readonly #token: string

  constructor(token: string) {
    this.#token = token
  }

  get<T>(path: string): Promise<T> {
    return this.call<T>('GET', path)
  }

  // call throws VenueError for an error response, and TypeError if there was none.
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#token}` }
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    const answer = await fetch(path, {
      method, headers, body: body === undefined ? null : JSON.stringify(body), cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer', signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch(lost)
    const said: unknown = await answer.json().catch(lost)
    if (answer.ok) return said as T
    throw new VenueError(answer.status, (said as { error?: { code?: string } }).error?.code ?? `http_${answer.status}`, said)
  }
}

const MEANS: Record<string, string> = {
  bad_amount: 'The venue does not book this amount.',
  draining: 'The venue is starting or stopping. Nothing happened: try again.',
  invalid_transition: 'The state has changed, so this is no longer possible.',
  missing_scope: 'Your role does not allow this.',
  rate_limited: 'Too many failed sign-ins from this address. Wait a little.',
  schema_violation: 'The venue does not accept one of the values.',
  self_approval: 'You requested this, or were added after it was requested: another operator has to decide.',
  shed: 'The venue is busy. Nothing happened: try again.',
  unauthorized: 'The token is not valid.',
  unknown_approval: 'This request has expired, or it was dropped.',
}

// explain returns what an error means to the operator. It rethrows anything that is neither a
// rejection nor a network failure, since that is a bug of the page.
export function explain(e: unknown): string {
  if (e instanceof VenueError) {
    const details = (e.body as { error?: { details?: { field?: string; reason?: string } | null } })?.error?.details
    return `${MEANS[e.code] ?? `The venue rejected this: ${e.message}.`}${details?.reason ? ` Reason: ${printable(details.reason)}.` : ''}${details?.field ? ` Field: ${details.field}.` : ''}`
  }
  if (e instanceof TypeError) return 'No answer: it may have happened. Look at the audit before you try again.'
  throw e
}
