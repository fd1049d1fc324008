// Opens the portal's pages in headless Chromium and fails if one requests anything from another
// host, violates the content security policy, or does not show its content. Only the dashboard may
// call the API.
// Usage: pages.mjs PORTAL API [FOLDER for screenshots]
import { chromium } from "playwright-core";

const [portal, api, folder] = process.argv.slice(2);
const pages = [
  { path: "/", shows: "body" },
  { path: "/docs", shows: "text=Place an order" },
  { path: "/docs#rest/tag/portfolio/POST/v1/portfolio/orders", shows: "text=client_order_id" },
  { path: "/docs?api=events", shows: "text=Order books, every change" },
  { path: "/errors", shows: "text=sequencing_timeout" },
  { path: "/deprecation", shows: "text=90 days" },
  { path: "/rules", shows: "text=Worked examples" },
  { path: "/rules/orders#self-trade-prevention", shows: "text=An account never trades with itself." },
  { path: "/glossary", shows: "text=self-trade prevention" },
];
const flags = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", // blocks requests that the route handler below does not see
];

const faults = [];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });
try {
  for (const { path, shows } of pages) await visit(path, shows);
} finally {
  await browser.close();
}
faults.forEach((f) => console.error(f));
console.log(`${pages.length} pages, ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);

async function visit(path, shows) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, serviceWorkers: "block" });
  const page = await context.newPage();
  await context.route("**/*", (route) => {
    const url = new URL(route.request().url());
    if (url.origin === portal || path === "/" && url.origin === api || ["data:", "blob:"].includes(url.protocol)) return route.continue();
    faults.push(`${path} requests ${url}`);
    return route.abort();
  });
  page.on("websocket", (ws) => path === "/" && new URL(ws.url()).host === new URL(api).host || faults.push(`${path} opens ${ws.url()}`));
  page.on("pageerror", (e) => faults.push(`${path} throws ${e}`));
  page.on("console", (m) => m.type() === "error" && faults.push(`${path} logs ${m.text()}`));
  page.on("response", (r) => r.status() >= 400 && faults.push(`${path}: ${r.status()} of ${r.url()}`));
  await page.goto(portal + path);
  await page.locator(shows).first().waitFor({ timeout: 30_000 }).catch((e) => faults.push(`${path} does not show ${shows}: ${e.message}`));
  await page.waitForLoadState("networkidle", { timeout: 5_000 }).catch(() => {}); // a polling page is never idle
  if (folder) await page.screenshot({ path: `${folder}/${path.replaceAll(/[^a-z0-9]+/gi, "_")}.png` });
  await context.close();
}
