// The venue's clock: offset = server_time − (t0 + t1) / 2, of the quickest of the
// latest measurements, since that one can be off the least.

interface Sample {
  offset: number
  took: number
}

const KEPT = 8

export class VenueClock {
  #samples: Sample[] = []
  #coarse = 0

  // measured takes a reading of GET /v1/time; t0 and t1 are local, in ms.
  measured(serverMs: number, t0: number, t1: number): void {
    this.#samples.push({ offset: serverMs - (t0 + t1) / 2, took: t1 - t0 })
    if (this.#samples.length > KEPT) this.#samples.shift()
  }

  // dated takes a Date header, which is good to a second: enough to sign with.
  dated(date: string | null, t1: number): void {
    const at = date ? Date.parse(date) : Number.NaN
    if (!Number.isNaN(at)) {
      this.#coarse = at + 500 - t1
      this.#samples = []
    }
  }

  // best is the quickest measurement; undefined before the first.
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
