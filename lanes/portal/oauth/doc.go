// Package oauth has the parts of OAuth 2.1 that need no venue: clients and their redirects, the request of an
// authorization, and the two documents by which a client finds its way (docs/rules/oauth.md). The portal serves
// them and keeps the grants, which are keys.
//
// No library is used. Beside consent, grants and storage, what is left is a form, a hash and two documents, and
// none of the libraries has documents of clients, or storage by sequenced commands.
package oauth
