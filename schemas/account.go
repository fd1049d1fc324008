package schemas

// Bucket is one of a key's three token buckets (docs/rules/limits.md#buckets).
type Bucket struct {
	SustainedRatePerS int64 `json:"sustained_rate_per_s"`
	Burst             int64 `json:"burst"`
}

// Limits is the response of `GET /v1/account/limits`. It has no as_of_seq.
type Limits struct {
	Scopes            []string `json:"scopes" nullable:"false" enum:"read,trade,withdraw"`
	Read              Bucket   `json:"read"`
	Write             Bucket   `json:"write"`
	Cancel            Bucket   `json:"cancel"`
	TrailingVolume30d U64      `json:"trailing_volume_30d" pattern:"^[0-9]+$" doc:"Contracts"`
	WriteFloor        int64    `json:"write_floor"`
	UsdPerExtraRps    int64    `json:"usd_per_extra_rps"`
	BatchCap          int64    `json:"batch_cap"`
	ResponseBudgetMs  int64    `json:"response_budget_ms"`
}

// CreateKey is the body of `POST /keys` on the accounts service. The body is optional.
// Without scopes the key has read and trade, the most that this route grants
// (docs/rules/accounts.md#accounts-service).
type CreateKey struct {
	Label  string   `json:"label,omitzero" maxLength:"64"`
	Scopes []string `json:"scopes,omitempty" nullable:"false" minItems:"1" maxItems:"3" enum:"read,trade,withdraw"`
}

// RevokeKey names the key of `DELETE /keys/{api_key}`.
type RevokeKey struct {
	APIKey string `json:"api_key" in:"path"`
}

// NewKey shows a key's secret, 64 hex characters, once.
type NewKey struct {
	APIKey    string   `json:"api_key"`
	Secret    string   `json:"secret" doc:"64 hex characters, shown once"`
	Scopes    []string `json:"scopes" nullable:"false" enum:"read,trade,withdraw"`
	CreatedTs U64      `json:"created_ts" pattern:"^[0-9]+$" doc:"ns"`
}

// Key is a key without its secret.
type Key struct {
	APIKey    string   `json:"api_key"`
	Label     string   `json:"label"`
	Scopes    []string `json:"scopes" nullable:"false" enum:"read,trade,withdraw"`
	CreatedTs U64      `json:"created_ts" pattern:"^[0-9]+$" doc:"ns"`
	Kind      string   `json:"kind" enum:"hmac,oauth" doc:"hmac signs requests; oauth is the grant of an OAuth client"`
	Client    string   `json:"client,omitzero" doc:"client_id of an oauth key"`
	ExpiresTs U64      `json:"expires_ts,omitzero" pattern:"^[0-9]+$" doc:"When an oauth key ends, ns"`
}

// KeyList is the response of `GET /keys`.
type KeyList struct {
	Keys []Key `json:"keys" nullable:"false"`
}

// Revoked is the response of a revocation. It does not depend on whether the key existed.
type Revoked struct {
	APIKey  string `json:"api_key"`
	Revoked bool   `json:"revoked"`
}

// AccountIdentity is the response of `GET /account`: whose account token it is.
type AccountIdentity struct {
	UserID    uint32 `json:"user_id"`
	Name      string `json:"name"`
	CreatedTs U64    `json:"created_ts" pattern:"^[0-9]+$" doc:"ns"`
}

// AccountClosed is the response of `DELETE /account`, which revokes all keys of the account.
type AccountClosed struct {
	Revoked bool `json:"revoked"`
}
