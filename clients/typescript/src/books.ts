// The books of one stream, kept from its messages. No I/O.
import type { components } from "./events.js";

type Events = components["schemas"];

/** Contracts bid at a price, in pips of the outcome. */
export type Level = [tick: number, qty: number];

/** A book as of seq: the bids for each outcome, best first. */
export type Book = Omit<Events["WSBook"], "yes" | "no"> & { seq: string; yes: Level[]; no: Level[] };

/** How old the change of a book may be, in milliseconds. */
export const mostAge = 2000;

export class Books {
  readonly #books = new Map<number, Book>(); // the known ones
  readonly #last = new Map<string, string>(); // the seq of the last message, by sid and market
  readonly #asked = new Set<number>(); // markets with a snapshot on the way

  get(marketId: number): Book | undefined {
    const book = this.#books.get(marketId);
    return book && { ...book, yes: [...book.yes], no: [...book.no] };
  }

  /** Forgets every book: the connection has ended. */
  clear(): void {
    this.#books.clear();
    this.#last.clear();
    this.#asked.clear();
  }

  snapshot({ sid, seq, msg }: Events["OrderbookSnapshotMessage"]): void {
    this.#books.set(msg.market_id, { ...msg, seq, yes: msg.yes as Level[], no: msg.no as Level[] });
    this.#last.set(`${sid}/${msg.market_id}`, seq);
    this.#asked.delete(msg.market_id);
  }

  /**
   * Applies a change that is ageMs old (NaN: unknown). After a gap, and if the change is late, the book is unknown and
   * the change is to be dropped: "ask" if a snapshot is to be requested, "wait" if one is on the way.
   */
  delta({ sid, seq, prev_seq, msg }: Events["OrderbookDeltaMessage"], ageMs: number): { then: "yield" | "ask" | "wait"; late: boolean } {
    const at = `${sid}/${msg.market_id}`;
    const book = this.#books.get(msg.market_id);
    const follows = book !== undefined && book.generation === msg.generation && this.#last.get(at) === prev_seq;
    this.#last.set(at, seq);
    const late = follows && ageMs > mostAge;
    if (follows && !late) {
      for (const { outcome, tick, qty } of msg.changes) setLevel(book[outcome], tick, qty);
      book.seq = seq;
      book.ts = msg.ts;
      return { then: "yield", late };
    }
    this.#books.delete(msg.market_id);
    if (this.#asked.has(msg.market_id)) return { then: "wait", late };
    this.#asked.add(msg.market_id);
    return { then: "ask", late };
  }
}

/** Sets one level of a side, which is sorted from the highest price down. */
function setLevel(side: Level[], tick: number, qty: number): void {
  let n = side.findIndex((level) => level[0] <= tick);
  if (n < 0) n = side.length;
  const there = side[n]?.[0] === tick ? 1 : 0;
  if (qty > 0) side.splice(n, there, [tick, qty]);
  else side.splice(n, there);
}
