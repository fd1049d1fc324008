import type { Bucket, Limits } from './wire.ts'

export type BucketName = 'read' | 'write' | 'cancel'

// TokenBucket estimates how many tokens a bucket holds. The venue reports rate and burst, and a
// rejection means that the bucket is empty. In between the page counts its own requests, so
// it does not see those of other clients with the same key.
export class TokenBucket {
  rate = 0
  burst = 0
  #tokens = 0
  #at = 0

  grant(b: Bucket, now: number): void {
    const first = this.burst === 0
    this.rate = b.sustained_rate_per_s
    this.burst = b.burst
    this.#tokens = first ? b.burst : this.left(now)
    this.#at = now
  }

  spend(n: number, now: number): void {
    this.#tokens = Math.max(0, this.left(now) - n)
    this.#at = now
  }

  empty(now: number): void {
    this.#tokens = 0
    this.#at = now
  }

  left(now: number): number {
    return Math.min(this.burst, this.#tokens + (this.rate * Math.max(0, now - this.#at)) / 1000)
  }
}

export class RateLimits {
  read = new TokenBucket()
  write = new TokenBucket()
  cancel = new TokenBucket()

  grant(l: Limits, now: number): void {
    this.read.grant(l.read, now)
    this.write.grant(l.write, now)
    this.cancel.grant(l.cancel, now)
  }
}

// bucketOf returns the bucket that a request draws from.
export function bucketOf(method: string, target: string): BucketName {
  if (method === 'GET' || target === '/v1/mcp') return 'read' // the page uses the agent lane only for reads
  return method === 'DELETE' || target.startsWith('/v1/portfolio/deadman') ? 'cancel' : 'write'
}
