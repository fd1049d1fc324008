package main

import (
	"errors"

	"duplex/cmd/dx/cli"
	"duplex/lanes/funding"
	"duplex/lanes/portal"
	"duplex/server"
)

// fundingFlags connect a venue with the service that receives and pays the money
// (docs/rules/funding.md), and tell who may open an account.
type fundingFlags struct {
	FundingURL    string `help:"Base URL of the funding service, which is told deposits and withdrawals: https, or http on loopback." placeholder:"URL"`
	FundingSecret string `type:"secret" help:"Secret that signs the requests to the funding service: whsec_ and base64."`
	SignUp        string `name:"signup" help:"Who may open an account at the portal: off, token (whoever has --signup-token) or open." default:"off" placeholder:"MODE"`
	SignUpToken   string `type:"secret" name:"signup-token" help:"Bearer token of --signup token."`
}

// to sets the flags in the options of a venue.
func (f *fundingFlags) to(o *server.Options) error {
	o.SignUp, o.SignUpToken = portal.SignUp(f.SignUp), f.SignUpToken
	if err := o.SignUp.Check(); err != nil {
		return cli.BadFlag("signup", err)
	}
	if (o.SignUp == portal.SignUpToken) != (f.SignUpToken != "") {
		return cli.BadFlag("signup-token", errors.New("goes with --signup token"))
	}
	if (f.FundingURL != "") != (f.FundingSecret != "") {
		return cli.BadFlag("funding-secret", errors.New("goes with --funding-url"))
	}
	if f.FundingURL == "" {
		return nil
	}
	if err := funding.CheckURL(f.FundingURL); err != nil {
		return cli.BadFlag("funding-url", err)
	}
	secret, err := funding.ParseSecret(f.FundingSecret)
	if err != nil {
		return cli.BadFlag("funding-secret", err)
	}
	o.FundingURL, o.FundingSecret = f.FundingURL, secret
	return nil
}
