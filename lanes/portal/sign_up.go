package portal

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// SignUp tells who may open an account at the portal (docs/rules/accounts.md#sign-up).
type SignUp string

// The values of SignUp.
const (
	SignUpOff   SignUp = "off"   // only the operator opens accounts
	SignUpToken SignUp = "token" // whoever has Options.SignUpToken
	SignUpOpen  SignUp = "open"  // anybody
)

// Check returns an error unless s is one of the values.
func (s SignUp) Check() error {
	if slices.Contains([]SignUp{SignUpOff, SignUpToken, SignUpOpen}, s) {
		return nil
	}
	return fmt.Errorf("off, token or open, not %q", string(s))
}

// Limits of new accounts: for each client network, and for the venue, because an attacker can have
// many networks and the venue keeps an account for good.
const (
	signUpsPerMinute      = 1
	signUpBurst           = 5
	venueSignUpsPerMinute = 60
	venueSignUpBurst      = 120
)

// signUpLimits bounds the new accounts.
type signUpLimits struct {
	networks gate.NetworkBuckets
	once     sync.Once
	venue    *gate.TokenBucket
}

// allowRequest takes a token of a network, for any request, or returns rate_limited.
func (s *signUpLimits) allowRequest(client netip.Addr, now time.Time) error {
	return s.networks.Of(client, func() *gate.TokenBucket { return gate.NewTokenBucket(signUpsPerMinute/60., signUpBurst) }).Take(now, 1)
}

// allowAccount takes a token of the venue, or returns rate_limited. It is called once an account would be
// opened, so that requests which open none cannot use up what all networks share.
func (s *signUpLimits) allowAccount(now time.Time) error {
	s.once.Do(func() { s.venue = gate.NewTokenBucket(venueSignUpsPerMinute/60., venueSignUpBurst) })
	return s.venue.Take(now, 1)
}

// registerSignUp registers the route that opens an account, if there is one.
func (l *lane) registerSignUp(m *gate.Routes) {
	if l.SignUp == SignUpOff {
		return
	}
	m.Handle("POST "+signUpPath, gate.Bind(l.Gate, "portal_sign_up", http.StatusCreated, func(ctx context.Context, c *gate.Call, in *schemas.SignUp) (out schemas.NewUser, err error) {
		if err := l.signUps.allowAccount(l.now()); err != nil {
			return out, err
		}
		token, hash := gate.NewToken("dxa_")
		r, err := l.submit(ctx, &core.CreateUser{Name: in.Name, TokenHash: hash, Audit: accountAudit("signed up")})
		if err != nil {
			return out, err
		}
		for _, e := range r.Events {
			if made, ok := e.(*core.UserChanged); ok {
				out = schemas.NewUser{UserID: uint32(made.User.ID), AccountToken: token}
			}
		}
		l.Log.InfoContext(ctx, "account action", "action", c.Op, "request_id", c.ID, "user_id", out.UserID, "ok", true)
		return out, nil
	}))
}

const signUpPath = "/accounts"

// authenticateSignUp checks the Origin, the token of SignUpToken and the limit of the network. A page of
// another site can send this request without the browser asking the venue first, so that it could use up
// its visitor's limit.
func (l *lane) authenticateSignUp(r *http.Request) error {
	if !l.Gate.OriginAllowed(r) {
		return tools.NewError("forbidden_origin")
	}
	if l.SignUp == SignUpToken {
		hash, ok := gate.Bearer(r.Header)
		want := sha256.Sum256([]byte(l.SignUpToken))
		if !ok || subtle.ConstantTimeCompare(hash[:], want[:]) != 1 {
			if err := l.authFailures.Fail(l.Gate.ClientAddr(r), l.now()); err != nil {
				return err
			}
			return tools.NewError("unauthorized")
		}
	}
	return l.signUps.allowRequest(l.Gate.ClientAddr(r), l.now())
}
