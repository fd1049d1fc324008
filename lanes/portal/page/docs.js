// Shows the documents of this portal. Everything that would reach out is off: fonts,
// telemetry, proxy, agent, client, developer tools. Requests need a signature, which
// a browser page should not make: there is no button to try one.

// The page may not evaluate strings (its policy): tell the reference's validator
// before it is loaded, or it would try.
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
