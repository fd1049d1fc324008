package schemas

// Profile is one key and the addresses of its venue: what a program needs to use the key.
type Profile struct {
	API    string   `json:"api"`
	WS     string   `json:"ws,omitzero"`
	MCP    string   `json:"mcp,omitzero"`
	Name   string   `json:"name,omitzero"`
	UserID uint32   `json:"user_id,omitzero"`
	APIKey string   `json:"api_key"`
	Secret string   `json:"secret"`
	Scopes []string `json:"scopes,omitzero"`
}
