// Package registry validates server.json and manifest.json of cmd/dx/bridge against the published
// schemas of the MCP registry and of the bundle format.
package registry
