package schemas

// DevFile is the file that `dx dev` writes once all listeners are open
// (docs/rules/operation.md#dev-venue).
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

// DevKey is the key with which the dashboard of `dx dev` signs in.
type DevKey struct {
	Name   string   `json:"name"`
	APIKey string   `json:"api_key"`
	Secret string   `json:"secret"`
	Scopes []string `json:"scopes" nullable:"false"`
}
