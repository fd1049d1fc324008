package schemas

// DevFile is what `dx dev` writes once everything listens (contract operator).
type DevFile struct {
	API           string       `json:"api"`
	WS            string       `json:"ws"`
	MCP           string       `json:"mcp"`
	Portal        string       `json:"portal"`
	Admin         string       `json:"admin"`
	OperatorToken string       `json:"operator_token"`
	Accounts      []DevAccount `json:"accounts" nullable:"false"`
}

// DevAccount is one of the funded accounts of a dev venue.
type DevAccount struct {
	Name         string   `json:"name"`
	UserID       uint32   `json:"user_id"`
	AccountToken string   `json:"account_token"`
	APIKey       string   `json:"api_key"`
	Secret       string   `json:"secret"`
	Scopes       []string `json:"scopes" nullable:"false"`
}

// DevKey is what the portal of `dx dev` signs its dashboard in with.
type DevKey struct {
	Name   string   `json:"name"`
	APIKey string   `json:"api_key"`
	Secret string   `json:"secret"`
	Scopes []string `json:"scopes" nullable:"false"`
}
