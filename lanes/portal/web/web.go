// Package web is the trading screen of the portal: Svelte and TypeScript in src, built
// by Vite into dist. dist is committed and embedded in the binary, so that `go build` needs
// no Node.
//
//	src/venue   signing, REST, WebSocket, clock
//	src/desk    the state of the page: books, trades, prices, rounds, the account
//	src/ui      components that show it
//	e2e         tests in a browser against `dx dev`
//
// `npm ci && npm run build` writes dist; .ci/dashboard checks that dist is up to date.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var built embed.FS

// Files returns the built page with its index.html, for portal.Options.Static.
func Files() fs.FS {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // dist is embedded
	}
	return files
}
