// Shows the documents of this portal. Every feature that connects to other hosts is
// disabled: fonts, telemetry, proxy, agent, client, developer tools. There is no button to
// send a request, since requests need a signature, which a browser page should not make.

// The page's policy forbids evaluating strings. The validator of the reference must know
// this before it is loaded.
globalThis.__zod_globalConfig = { jitless: true };

addEventListener("DOMContentLoaded", () => {
  const at = document.getElementById("reference");
  Scalar.createApiReference(at, {
    sources: JSON.parse(at.dataset.sources),
    agent: { disabled: true },
    mcp: { disabled: true },
    telemetry: false,
    withDefaultFonts: false,
    proxyUrl: "",
    hideTestRequestButton: true,
    hideClientButton: true,
    showDeveloperTools: "never",
    documentDownloadType: "direct",
    defaultOpenFirstTag: true,
    metaData: { title: "Duplex reference" },
  });
});
