// The venue's clock: offset = server_time − (t0 + t1) / 2. The fastest of the latest
// measurements counts, because its error is the smallest.

interface Sample {
  offset: number
  took: number
}

const KEPT = 8

export class VenueClock {
  #samples: Sample[] = []
  #coarse = 0

  // measured records a reading of GET /v1/time. t0 and t1 are local times in ms.
  measured(serverMs: number, t0: number, t1: number): void {
    this.#samples.push({ offset: serverMs - (t0 + t1) / 2, took: t1 - t0 })
    if (this.#samples.length > KEPT) this.#samples.shift()
  }

  // dated sets the clock from a Date header. That is accurate to a second, enough to sign.
  dated(date: string | null, t1: number): void {
    const at = date ? Date.parse(date) : Number.NaN
    if (!Number.isNaN(at)) {
      this.#coarse = at + 500 - t1
      this.#samples = []
    }
  }

  // best is the fastest measurement; undefined before the first.
  get best(): Sample | undefined {
    return this.#samples.reduce<Sample | undefined>((best, s) => (best && best.took <= s.took ? best : s), undefined)
  }

  get offset(): number {
    return this.best?.offset ?? this.#coarse
  }

  // now is the venue's time in ms.
  now(): number {
    return Date.now() + this.offset
  }
}
