package oauth

import "net/url"

// Fault is an error of the protocol (RFC 6749, sections 4.1.2.1 and 5.2). Redirect is where the browser takes
// it; "" shows it to the person instead, because the client or its redirect is not to be trusted.
type Fault struct {
	Code        string
	Description string
	Redirect    string
}

func (f *Fault) Error() string { return f.Code + ": " + f.Description }

// Codes of faults.
const (
	InvalidRequest          = "invalid_request"
	InvalidClient           = "invalid_client"
	InvalidGrant            = "invalid_grant"
	InvalidTarget           = "invalid_target" // RFC 8707
	InvalidClientMetadata   = "invalid_client_metadata"
	InvalidRedirectURI      = "invalid_redirect_uri" // RFC 7591
	UnsupportedGrantType    = "unsupported_grant_type"
	UnsupportedResponseType = "unsupported_response_type"
	AccessDenied            = "access_denied"
	TemporarilyUnavailable  = "temporarily_unavailable"
	ServerError             = "server_error"
	SlowDown                = "slow_down" // RFC 8628
)

// withQuery returns a redirect URI with more parameters. It keeps the text of the URI as the client gave it,
// which url.URL would write anew.
func withQuery(redirect string, pairs ...[2]string) string {
	join := "?"
	if u, err := url.Parse(redirect); err == nil && (u.RawQuery != "" || u.ForceQuery) {
		join = "&"
		if u.ForceQuery {
			join = ""
		}
	}
	for _, p := range pairs {
		if p[1] != "" {
			redirect += join + p[0] + "=" + url.QueryEscape(p[1])
			join = "&"
		}
	}
	return redirect
}
