// Package portal is the listener for people and their programs before they have a
// key (contract operator, Three listeners): the page, the documents, and the
// accounts service. There is no market data on it.
//
//	/                              the dashboard, or a plain page where there is none
//	/venue.json                    where the venue is, for the dashboard
//	/dev/key                       dx dev alone: the trader's key, for the dashboard
//	/openapi.json /openapi.yaml    the REST interface
//	/asyncapi.json                 the events
//	/docs                          both to browse, offline
//	/llms.txt /llms-full.txt       how to integrate, for a model, in short and in full
//	/changelog.atom                what changed
//	/deprecation                   what may change, and how it is announced
//	/errors /errors.json           the fault table
//	/keys /account                 accounts service; bearer: the account's token
//
// Documents are made once, when the portal is. The door is lanes/gate's.
package portal
