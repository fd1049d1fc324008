package core

// Grant is what makes a key that of an OAuth client: the owner of the agent has allowed the client to act
// as the agent until Expires (docs/rules/oauth.md#grants). A key without one signs requests. A Grant that is
// shared is read-only; a change makes a new one.
type Grant struct {
	Client    string   // client_id
	Redirect  string   // the redirect URI that the code belongs to
	Challenge [32]byte // SHA-256 of the client's code verifier
	Expires   int64    // ns

	// Generation counts the pairs of tokens; 0 until the code is exchanged. Issued is when the present pair
	// was issued and when the one before was, in ns.
	Generation uint32   `cbor:",omitempty"`
	Issued     [2]int64 `cbor:",omitzero"`
}

// Times of a grant, in ns (docs/rules/oauth.md#tokens).
const (
	GrantCodeNs   = 60 * NsPerSec   // for the exchange of the code
	GrantAccessNs = 3600 * NsPerSec // the life of an access token
	GrantRepeatNs = 30 * NsPerSec   // the former pair is accepted for so long after a renewal
	GrantMaxNs    = 91 * NsPerDay   // of a grant; the portal gives 90 days, and clocks may differ
)

// Ends is when the venue revokes the key of a grant that was created at a time, in ns: an unused code ends
// it early.
func (g *Grant) Ends(created int64) int64 {
	if g.Generation == 0 {
		return min(created+GrantCodeNs, g.Expires)
	}
	return g.Expires
}

// AccessEnds is when the access token of a generation ends, in ns; 0 if it is not one of the two newest.
func (g *Grant) AccessEnds(generation uint32) int64 {
	switch {
	case generation == 0 || g.Generation == 0:
		return 0
	case generation == g.Generation:
		return min(g.Issued[0]+GrantAccessNs, g.Expires)
	case generation == g.Generation-1:
		return min(g.Issued[1]+GrantAccessNs, g.Issued[0]+GrantRepeatNs, g.Expires)
	}
	return 0
}

// Repeats reports whether the present pair of tokens answers a renewal of a generation at ts, in ns: the
// client may have missed the first answer, and gets the same pair once more.
func (g *Grant) Repeats(generation uint32, ts int64) bool {
	return generation > 0 && generation == g.Generation-1 && ts < g.Issued[0]+GrantRepeatNs
}
