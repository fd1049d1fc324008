import { VenueError } from './rest.ts'

// retryRateLimited repeats a request that the venue rejects because of its rate, after the time that the
// rejection names.
export async function retryRateLimited<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send()
    } catch (e) {
      const ms = retryAfter(e)
      if (ms === undefined) throw e
      await new Promise((resolve) => setTimeout(resolve, ms))
    }
  }
}

// retryAfter returns the wait in ms of a rate_limited rejection (default 1000), undefined for any other error.
export function retryAfter(e: unknown): number | undefined {
  if (!(e instanceof VenueError) || e.code !== 'rate_limited') return undefined
  const { error } = e.body as { error?: { details?: { retry_after_ms?: string } | null } }
  return Math.max(1, Number(error?.details?.retry_after_ms ?? 1000))
}
