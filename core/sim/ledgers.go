package sim

import (
	"cmp"
	"fmt"
	"slices"

	"duplex/core"
	"duplex/core/sim/model"
	"duplex/core/view"
)

// sameRows returns an error if the rows that a command added to a ledger are not those of the model.
func sameRows(rows []view.LedgerRow, want []model.Row) error {
	var got []model.Row
	for _, r := range rows {
		got = append(got, model.Row{
			Kind: r.Kind.String(), Amount: r.Amount, Market: r.Market, Number: r.Number, Category: r.Category, Order: r.Order, FillN: r.FillN, Ref: r.Ref,
		})
	}
	if !slices.Equal(returnsByAmount(got), returnsByAmount(want)) {
		return fmt.Errorf("the rows of its ledger are %+v, the model has %+v", got, want)
	}
	return nil
}

// returnsByAmount returns rows with each run of returns from closed agents by amount: no rule says
// which agent's cash comes back first if one command pays several.
func returnsByAmount(rows []model.Row) []model.Row {
	rows = slices.Clone(rows)
	returned := func(r model.Row) bool { return r.Kind == view.LedgerTransfer.String() && r.Ref == "" }
	for i := 0; i < len(rows); i++ {
		end := i
		for end < len(rows) && returned(rows[end]) {
			end++
		}
		slices.SortFunc(rows[i:end], func(a, b model.Row) int { return cmp.Compare(a.Amount, b.Amount) })
		i = max(i, end-1)
	}
	return rows
}

// sameLedgers returns an error if the ledgers or the results by round of a view differ from the
// model's.
func sameLedgers(w *view.View, m *model.Venue) error {
	for u := core.UserID(1); int(u) <= m.Users(); u++ {
		if err := sameLedger(w, m, u); err != nil {
			return fmt.Errorf("ledger of user %d: %w", u, err)
		}
	}
	return nil
}

func sameLedger(w *view.View, m *model.Venue, u core.UserID) error {
	cash, reserved := m.Balance(u)
	if got := w.LedgerBalance(u); got != cash+reserved {
		return fmt.Errorf("it ends with %d, the model has %d + %d", got, cash, reserved)
	}
	next, after := m.LedgerRows(u), cash+reserved
	sums := map[string]core.Pips{}
	for n, r := range w.Ledger(u, 0) {
		if n != next || r.N != n || r.BalanceAfter != after {
			return fmt.Errorf("row %d, want %d with a balance of %d: %+v", n, next, after, *r)
		}
		next, after = next-1, after-r.Amount
		sums[r.Kind.String()] += r.Amount
	}
	for _, kind := range view.LedgerKinds() {
		if want := m.LedgerSum(u, kind); next == 0 && sums[kind] != want { // no row is beyond the cap
			return fmt.Errorf("its rows of kind %s add up to %d, the model has %d", kind, sums[kind], want)
		}
	}
	for number, x := range w.AccountRounds(u, 0) {
		if profit, final := x.Profit(); final && profit != m.Result(u, number) {
			return fmt.Errorf("the profit in round %d is %d, the model has %d: %+v", number, profit, m.Result(u, number), x)
		}
	}
	return nil
}
