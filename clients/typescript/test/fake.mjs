// A venue without a network, in a time that tests move.
import { Client } from "duplex-client";

export const trueTime = 1_800_000_000_000; // Unix ms when a test begins
export const secret = "00".repeat(32);

/** A client of a fake venue: answer(request) returns a Response or throws; onCommand gets what a stream sends. */
export class FakeClient extends Client {
  time = 0;
  clock = 0; // how far the local clock is ahead of the venue's
  timers = new Set();
  sockets = []; // that connection has not returned
  connections = 0;
  onCommand = () => {};
  platform = {
    now: () => this.time,
    wall: () => trueTime + this.time + this.clock,
    random: () => 1,
    after: (ms, f) => {
      const timer = { at: this.time + ms, f };
      this.timers.add(timer);
      return () => this.timers.delete(timer);
    },
    transport: async () => ({
      fetch: async (url, init) => this.answer({ url, ...init }),
      socket: (url, protocols) => {
        const socket = new FakeSocket(url, protocols, (command) => this.onCommand(command, socket));
        this.connections++;
        this.sockets.push(socket);
        this.connected?.();
        return socket;
      },
    }),
  };
  answer = () => Response.json({ server_time: String(BigInt(trueTime + this.time) * 1_000_000n), clock: "wall", venue_time: "0" });

  /** From now on a wait lets its time pass at once. Signing takes no time, however slow the machine is. */
  passWaits() {
    this.sleep = async (ms) => {
      await settled();
      this.advance(ms);
    };
  }

  /** Returns the next WebSocket, which has subscribed. */
  async connection() {
    while (!this.sockets.length) await new Promise((done) => (this.connected = done));
    const socket = this.sockets.shift();
    socket.open();
    return socket;
  }

  /** Moves time, and calls what becomes due. */
  advance(ms) {
    const end = this.time + ms;
    for (;;) {
      const [next] = [...this.timers].filter((t) => t.at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      this.timers.delete(next);
      this.time = Math.max(this.time, next.at);
      next.f();
    }
    this.time = end;
  }
}

class FakeSocket {
  readyState = 0;
  sent = [];
  constructor(url, protocols, onCommand) {
    Object.assign(this, { url, protocols, onCommand });
  }
  open() {
    this.readyState = 1;
    this.onopen?.();
  }
  send(text) {
    const command = JSON.parse(text);
    this.sent.push(command);
    this.onCommand(command);
  }
  say(message) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
  cut(code = 1012, reason = "") {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }
  close() {
    this.readyState = 3;
  }
}

/** Returns when all that needs no further signal is done. */
export const settled = () => new Promise((done) => setImmediate(done));
