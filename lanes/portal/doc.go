// Package portal is the listener for people, and for programs that have no key yet
// (docs/rules/operation.md#listeners): the pages, the documents and the accounts service.
//
//	/                              the dashboard, or a plain page without it
//	/venue.json                    the addresses of the venue, for the dashboard
//	/dev/key                       dx dev only: the trader's key, for the dashboard
//	/openapi.json /openapi.yaml    the REST interface
//	/asyncapi.json                 the event lane
//	/docs                          both documents to browse, offline
//	/llms.txt /llms-full.txt       how to integrate, for a model, in short and in full
//	/changelog.atom                the changelog
//	/deprecation                   what may change, and how it is announced
//	/errors /errors.json           the error table
//	/rules /rules/orders …         the rulebook; each page also as Markdown, with .md
//	/glossary                      its terms
//	/keys /account                 the accounts service; bearer: the account token
//	/agents /agents/{agent_id}/…   an owner's routes about its agents; the same bearer
//
// Invariants:
//
//  1. It serves no market data, and no key that can withdraw.
//  2. Documents are built once, in New, and are read-only.
//  3. A page loads nothing from other hosts and cannot be framed.
//
// lanes/gate authenticates, decodes and writes errors.
package portal
