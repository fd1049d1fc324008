package oauth

// ServerMetadata describes the authorization server (RFC 8414).
type ServerMetadata struct {
	Issuer                     string   `json:"issuer"`
	AuthorizationEndpoint      string   `json:"authorization_endpoint"`
	TokenEndpoint              string   `json:"token_endpoint"`
	RegistrationEndpoint       string   `json:"registration_endpoint"`
	RevocationEndpoint         string   `json:"revocation_endpoint"`
	ResponseTypes              []string `json:"response_types_supported"`
	Scopes                     []string `json:"scopes_supported"`
	ChallengeMethods           []string `json:"code_challenge_methods_supported"`
	GrantTypes                 []string `json:"grant_types_supported"`
	TokenEndpointAuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods      []string `json:"revocation_endpoint_auth_methods_supported"`
	ClientIDMetadataDocument   bool     `json:"client_id_metadata_document_supported"`
	AuthorizationResponseIssue bool     `json:"authorization_response_iss_parameter_supported"`
}

// Paths of the authorization server, on the portal.
const (
	MetadataPath  = "/.well-known/oauth-authorization-server"
	AuthorizePath = "/oauth/authorize"
	ConsentPath   = "/oauth/consent"
	TokenPath     = "/oauth/token"
	RegisterPath  = "/oauth/register"
	RevokePath    = "/oauth/revoke"
)

// Metadata returns the document of the authorization server.
func (s *Server) Metadata() ServerMetadata {
	return ServerMetadata{
		Issuer: s.Issuer, AuthorizationEndpoint: s.Issuer + AuthorizePath, TokenEndpoint: s.Issuer + TokenPath,
		RegistrationEndpoint: s.Issuer + RegisterPath, RevocationEndpoint: s.Issuer + RevokePath,
		ResponseTypes: []string{"code"}, Scopes: []string{"read", "trade"}, ChallengeMethods: []string{"S256"},
		GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethods: []string{"none"}, RevocationAuthMethods: []string{"none"},
		ClientIDMetadataDocument: true, AuthorizationResponseIssue: true,
	}
}
