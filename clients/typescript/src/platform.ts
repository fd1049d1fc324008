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

type Environment = Record<string, string | undefined>;

/** The environment of Node; empty in a browser. */
function environment(): Environment {
  const { process } = globalThis as { process?: { env?: Environment; versions?: { node?: string } } };
  return (process?.versions?.node && process.env) || {};
}

/** DX_TIMEOUT in milliseconds, if it is set to a positive number: an arena sets it for its agents. */
export function environmentTimeout(): number | undefined {
  const seconds = Number(environment()["DX_TIMEOUT"]);
  return seconds > 0 && Number.isFinite(seconds) ? seconds * 1000 : undefined;
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
  const { protocol, hostname } = new URL(url);
  const env = environment();
  const variable = [protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY"].flatMap((name) => [name.toLowerCase(), name]).find((name) => env[name]);
  // As in Go, loopback goes without a proxy.
  if (!variable || hostname === "localhost" || hostname === "[::1]" || /^127\.[0-9.]+$/.test(hostname)) {
    return {
      fetch: (target, init) => globalThis.fetch(target, init),
      socket: typeof WebSocket === "undefined" ? undefined : (target, protocols) => new WebSocket(target, protocols),
    };
  }
  const name: string = "undici"; // a variable, so that a bundler for browsers does not look for it
  const undici = await import(name).catch((cause: unknown) => {
    throw new Error(`${variable} is set; a proxy needs the package undici: npm install undici`, { cause });
  });
  const { [variable]: proxy } = env;
  const dispatcher = new undici.EnvHttpProxyAgent({ httpProxy: proxy, httpsProxy: proxy, noProxy: env["no_proxy"] || env["NO_PROXY"] });
  return {
    fetch: (target, init) => undici.fetch(target, { ...init, dispatcher }),
    socket: (target, protocols) => new undici.WebSocket(target, { protocols, dispatcher }),
  };
}
