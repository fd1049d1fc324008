// Package web is the trading screen of the portal: Svelte and TypeScript in src, built
// by Vite into dist. dist is committed and embedded in the binary, so that `go build` needs
// no Node.
//
//	src/venue     the client of the venue: signing, REST, WebSocket, clock
//	src/store     the state that the socket keeps up to date
//	src/shared    formats, names, notices
//	src/operator  the page of the operator, which lanes/admin embeds
//	src/...       one folder for each part of the screen; README.md lists them
//	e2e           tests in a browser against `dx dev`
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
