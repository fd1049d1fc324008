// Package registry holds server.json and manifest.json of cmd/dx/bridge against the
// schemas that their readers publish.
package registry
