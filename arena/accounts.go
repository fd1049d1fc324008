package arena

import (
	"bytes"
	"errors"
	"fmt"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/replica"
	"duplex/lanes/gate"
)

var audit = core.Audit{Who: "arena"}

// Funds of the market's own accounts, in pips.
const marketFunds = core.Pips(10_000_000) * 10_000

// The market's own accounts.
const (
	makerUser core.UserID = 1
	noiseUser core.UserID = 2
)

func seatKey(number int) string { return fmt.Sprint("seat", number) }

// accountCommands returns the commands that create all accounts of a market, in order: its own, then those
// of the seats with these numbers.
func accountCommands(c *Config, numbers []int) (cmds []core.Command) {
	var user core.UserID // that the next command creates, less 1
	create := func(name string, fund core.Pips) core.UserID {
		user++
		cmds = append(cmds, &core.CreateUser{Name: name, Audit: audit})
		if fund != 0 {
			cmds = append(cmds, &core.Deposit{User: user, DepositID: "fund-" + name, Amount: fund, Audit: audit})
		}
		return user
	}
	create("maker", marketFunds)
	create("noise", marketFunds)
	for _, n := range numbers {
		x := &c.Seats[n-1]
		owner := create("owner-"+x.Name, x.fund)
		user++
		cmds = append(cmds,
			&core.CreateAgent{Owner: owner, Name: x.Name, Fund: x.fund, Mandate: x.mandate, Audit: audit},
			&core.CreateKey{User: user, Key: seatKey(n), Scopes: gate.UserScopes, Label: "arena", Audit: audit})
	}
	return cmds
}

// accountCheck compares the commands of a bundle with those that create its accounts: whoever adds another
// one, such as a deposit, gives a seat a profit.
type accountCheck struct{ want []core.Command }

// add checks a command that the market, its faults or a seat cannot have sent.
func (x *accountCheck) add(a *replica.Applied) error {
	if core.KeyField(a.Command) != nil {
		return nil
	}
	switch a.Command.(type) {
	case *core.PauseMarket, *core.RevokeKey, *core.Clock, *core.PostIndex, *core.SetSession, *core.SetRules, *core.ActivateRules, *core.Checkpoint:
		return nil
	}
	have, err := journal.AppendCommand(nil, a.Command)
	if err != nil {
		return err
	}
	if len(x.want) > 0 {
		want, err := journal.AppendCommand(nil, x.want[0])
		if err != nil {
			return err
		}
		if bytes.Equal(have, want) {
			x.want = x.want[1:]
			return nil
		}
	}
	return fmt.Errorf("seq %d: %T is none of the commands that create the accounts of the settings", a.Stamp.Seq, a.Command)
}

// end returns an error if an account is missing.
func (x *accountCheck) end() error {
	if len(x.want) > 0 {
		return errors.New("the journal does not create every account of the settings")
	}
	return nil
}
