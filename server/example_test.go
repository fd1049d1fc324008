package server_test

import (
	"context"
	"fmt"

	"duplex/client"
	"duplex/core"
	"duplex/schemas"
	"duplex/server"
)

// A program embeds a venue: all lanes on free ports of loopback, in a temporary folder, with
// one account. Package server/servertest adds a clock and open markets, for tests.
func Example() {
	ctx := context.Background()
	v, err := server.Open(ctx, server.Options{
		Accounts: []server.Account{{Name: "trader", Scopes: core.ScopeRead | core.ScopeTrade, Funds: 50_000}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := v.Close(ctx); err != nil {
			fmt.Println(err)
		}
	}()

	account := v.Accounts()[0]
	secret, _ := schemas.ParseSecret(account.Secret)
	c := client.Must(client.New(v.APIURL(), account.APIKey, secret))
	balance, err := c.Balance(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(account.Name, "has", balance.Cash, "pips")
	// Output: trader has 50000 pips
}
