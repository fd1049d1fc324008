// What the client needs from Node or the browser. Tests replace it.

export interface Platform {
  /** Milliseconds of a clock that only rises. */
  now(): number;
  /** Unix milliseconds of the local clock. */
  wall(): number;
  random(): number;
  /** Calls f after ms milliseconds, and returns a function that prevents it. */
  after(ms: number, f: () => void): () => void;
  /** The ways to a venue at this URL. */
  transport(url: string): Promise<Transport>;
}

export interface Transport {
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Undefined if there is no WebSocket. */
  socket: ((url: string, protocols: string[]) => WebSocket) | undefined;
}

export type Environment = Record<string, string | undefined>;

/** The environment of Node; empty in a browser. */
function environment(): Environment {
  const { process } = globalThis as { process?: { env?: Environment; versions?: { node?: string } } };
  return (process?.versions?.node && process.env) || {};
}

const longestTimeout = 86_400; // seconds

/** DX_TIMEOUT in milliseconds, if it is set: an arena sets it for its agents. Throws RangeError if it is no such time. */
export function environmentTimeout(): number | undefined {
  const text = environment()["DX_TIMEOUT"];
  if (!text) return undefined;
  const seconds = /^[0-9]{1,9}(\.[0-9]{1,9})?$/.test(text) ? Number(text) : 0;
  if (seconds > 0 && seconds <= longestTimeout) return seconds * 1000;
  throw new RangeError(`DX_TIMEOUT is ${JSON.stringify(text)}: it must be seconds, a number above 0 and at most ${longestTimeout}`);
}

/** The proxy for a venue, by the rules of Go (schemas/vectors/proxies.json), except that NO_PROXY has no networks. */
export function proxyOf(url: string, env: Environment): string | undefined {
  const { protocol, hostname, port } = new URL(url);
  const secure = protocol === "https:";
  const get = (name: string) => env[name.toLowerCase()] || env[name];
  const proxy = get(secure ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (!proxy || bypasses(get("NO_PROXY") ?? "", hostname.replace(/[[\]]/g, ""), port || (secure ? "443" : "80"))) return undefined;
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}

function bypasses(noProxy: string, host: string, port: string): boolean {
  const isIP = host.includes(":") || /^[0-9.]+$/.test(host);
  if (host === "localhost" || host === "::1" || (isIP && host.startsWith("127."))) return true;
  return noProxy
    .toLowerCase()
    .split(",")
    .some((text) => {
      const entry = text.trim();
      const [, withPort, number] = /^(\[.+\]|[^:]*):([0-9]+)$/.exec(entry) ?? [];
      const name = (withPort ?? entry).replace(/[[\]]/g, "");
      if (entry === "*") return true;
      if (!name || (number && number !== port)) return false;
      return host === name || (!isIP && host.endsWith(`.${name.replace(/^\*?\./, "")}`));
    });
}

export const platform: Platform = {
  now: () => performance.now(),
  wall: () => Date.now(),
  random: () => Math.random(),
  after(ms, f) {
    // A longer wait would fire at once.
    const timer = setTimeout(f, Math.min(ms, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
  transport,
};

async function transport(url: string): Promise<Transport> {
  const proxy = proxyOf(url, environment());
  if (!proxy) {
    return {
      fetch: (target, init) => globalThis.fetch(target, init),
      socket: typeof WebSocket === "undefined" ? undefined : (target, protocols) => new WebSocket(target, protocols),
    };
  }
  const name: string = "undici"; // a variable, so that a bundler for browsers does not look for it
  const undici = await import(name).catch((cause: unknown) => {
    throw new Error(`HTTPS_PROXY or HTTP_PROXY is set; a proxy needs the package undici: npm install undici`, { cause });
  });
  const dispatcher = new undici.ProxyAgent(proxy);
  return {
    fetch: (target, init) => undici.fetch(target, { ...init, dispatcher }),
    socket: (target, protocols) => new undici.WebSocket(target, { protocols, dispatcher }),
  };
}
