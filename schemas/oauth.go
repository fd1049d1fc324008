package schemas

import "github.com/go-json-experiment/json/jsontext"

// Consent is the body of `POST /oauth/consent`: what an owner answers to the request of an OAuth client
// (docs/rules/oauth.md#consent). The members beside Request are those of an allowed request.
type Consent struct {
	Request          string         `json:"request" doc:"The query of the authorization"`
	Allow            bool           `json:"allow"`
	Agent            jsontext.Value `json:"agent,omitempty" doc:"Either user_id of an active agent with if_rev, or name and mandate of a new one"`
	Fund             U64            `json:"fund,omitzero" pattern:"^[0-9]+$" doc:"Pips moved from the owner to the agent"`
	ClientTransferID string         `json:"client_transfer_id,omitzero" pattern:"^[A-Za-z0-9_-]{1,64}$" doc:"The owner's own id of the money; a repeat moves it once"`
	ExpiresInSecs    Int            `json:"expires_in_secs,omitzero" minimum:"3600" maximum:"7776000" doc:"Default 30 days"`
}

// ConsentAgent is the agent of a Consent.
type ConsentAgent struct {
	UserID  Int            `json:"user_id,omitzero" minimum:"1" maximum:"4294967295"`
	IfRev   Int            `json:"if_rev,omitzero" minimum:"1" maximum:"4294967295" doc:"The rev of the mandate that the owner has seen"`
	Name    string         `json:"name,omitzero" pattern:"^[a-z0-9][a-z0-9-]{0,31}$"`
	Mandate jsontext.Value `json:"mandate,omitempty"`
}

// DecodeAgent returns the agent of an allowed request.
func (c *Consent) DecodeAgent() (a ConsentAgent, f *Fault) {
	const wanted = "either user_id and perhaps if_rev, or name and perhaps mandate"
	if len(c.Agent) == 0 || c.Agent.Kind() != '{' {
		return a, schemaViolation("agent", wanted)
	}
	if f := decode(c.Agent, &a, inAny); f != nil {
		if f.Field != "" {
			f.Field = "agent." + f.Field
		}
		return a, f
	}
	if (a.UserID == 0) == (a.Name == "") || a.UserID != 0 && a.Mandate != nil || a.UserID == 0 && a.IfRev != 0 {
		return a, schemaViolation("agent", wanted)
	}
	return a, nil
}

// Consented is the response of `POST /oauth/consent`.
type Consented struct {
	Redirect string `json:"redirect" doc:"Where the browser goes now: back to the client"`
}
