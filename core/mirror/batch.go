package mirror

import (
	"encoding/json"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/view"
)

// position is a place between two groups of the journal, and the seq of the last command before it.
type position struct {
	journal.Position
	Seq uint64
}

// batch has the rows of whole groups, which one transaction writes. It is a view.Sink. The values
// of a row stand one after the other, in the order of the table's columns.
type batch struct {
	from, to position
	rows     int
	tried    bool // an attempt to write it has failed, and may have committed it
	values   [tableCount][]any
	places   map[rowKey]int // of the rows that can change, in values
	older    *olderBatch    // rows from before the mirror began, written with these; nil: none
}

// rowKey is the key of a row of a table that changes.
type rowKey struct {
	table tableID
	kind  string
	a, b  uint64
}

var _ view.Sink = (*batch)(nil)

func newBatch(from position) *batch {
	return &batch{from: from, to: from, places: map[rowKey]int{}}
}

// count returns the number of rows of a table.
func (b *batch) count(t *table) int { return len(b.values[t.id]) / len(t.columns) }

// reset empties the batch and keeps its memory.
func (b *batch) reset(from position) {
	b.from, b.to, b.rows, b.tried, b.older = from, from, 0, false, nil
	for i := range b.values {
		clear(b.values[i])
		b.values[i] = b.values[i][:0]
	}
	clear(b.places)
}

// add adds a row of a table whose rows never change.
func (b *batch) add(t tableID, values ...any) {
	b.values[t] = append(b.values[t], values...)
	b.rows++
}

// put adds a row, or replaces the one with the same key.
func (b *batch) put(t tableID, k rowKey, values ...any) {
	k.table = t
	if at, ok := b.places[k]; ok {
		copy(b.values[t][at:], values)
		return
	}
	b.places[k] = len(b.values[t])
	b.add(t, values...)
}

// orNull returns NULL for zero.
func orNull[T ~uint16 | ~uint32 | ~uint64](n T) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// keyOrNull returns NULL for a key that is not known.
func keyOrNull(id *string) any {
	if id == nil {
		return nil
	}
	return *id
}

// winnerOf returns NULL for a round without a winner.
func winnerOf(o core.Outcome) any {
	if o == core.NoOutcome {
		return nil
	}
	return o.String()
}

func (b *batch) User(u *core.User) {
	owner := core.UserID(0)
	if u.Agent != nil {
		owner = u.Agent.Owner
	}
	b.put(users, rowKey{a: uint64(u.ID)}, int64(u.ID), u.Name, orNull(u.Referrer), orNull(owner), u.Suspended, u.Created)
}

func (b *batch) Order(o *view.Order) {
	reason := o.Reason.String()
	if o.Status == core.Rejected {
		reason = o.Reject.String()
	}
	b.put(orders, rowKey{a: uint64(o.User), b: o.CreatedSeq},
		int64(o.User), int64(o.CreatedSeq), o.CreatedTs, orNull(o.ID), o.ClientID, int64(o.Market), int64(o.Generation), o.Side.String(), o.Outcome.String(),
		o.Type.String(), int64(o.Tick), int64(o.Qty), o.TIF.String(), o.Expiry, o.MaxCost, int64(o.Group), int64(o.Flags), keyOrNull(o.APIKey),
		o.Status.String(), reason, int64(o.Filled), int64(o.Left), int64(o.UpdateSeq))
}

func (b *batch) Fill(u core.UserID, f *view.Fill) {
	b.add(fills, int64(u), int64(f.N), int64(f.Seq), f.Ts, int64(f.Market), int64(f.Generation), int64(f.Number), int64(f.Category), int64(f.Order), f.ClientID,
		roleOf(f.Maker), f.Side.String(), f.Outcome.String(), int64(f.Qty), int64(f.TickYes), f.Path.String(), int64(f.Fee), keyOrNull(f.APIKey))
}

func roleOf(maker bool) string {
	if maker {
		return "maker"
	}
	return "taker"
}

func (b *batch) Trade(n uint64, t *view.Trade) {
	b.add(trades, int64(t.Market), int64(n), int64(t.Seq), t.Ts, int64(t.Generation), int64(t.TickYes), int64(t.Qty), t.Path.String(), t.TakerSide.String(), t.TakerOutcome.String())
}

func (b *batch) Settlement(u core.UserID, n uint64, s *view.Settlement) {
	b.add(settlements, int64(u), int64(n), int64(s.Seq), s.Ts, int64(s.Market), int64(s.Generation), int64(s.Number), int64(s.Category), s.Status.String(), winnerOf(s.Winner),
		int64(s.Yes), int64(s.No), int64(s.Payout), int64(s.Cost), int64(s.SettlePrice), int64(s.Strike))
}

func (b *batch) Ledger(u core.UserID, r *view.LedgerRow) {
	b.add(ledger, int64(u), int64(r.N), int64(r.Seq), r.Ts, r.Kind.String(), int64(r.Amount), int64(r.BalanceAfter),
		orNull(r.Market), orNull(r.Generation), orNull(r.Number), orNull(r.Category), orNull(r.Order), orNull(r.FillN), textOrNull(r.Ref))
}

func (b *batch) Forecast(u core.UserID, f *view.Forecast) {
	b.add(forecasts, int64(u), int64(f.N), int64(f.Seq), f.Ts, int64(f.Market), int64(f.Generation), int64(f.Number), int64(f.Category), int64(f.P))
}

func (b *batch) AccountRound(u core.UserID, x *view.AccountRound) {
	var profit any
	if p, final := x.Profit(); final {
		profit = int64(p)
	}
	b.put(userRounds, rowKey{a: uint64(u), b: x.Number}, int64(u), int64(x.Number), int64(x.Market), int64(x.Generation), int64(x.Category), x.Status.String(), winnerOf(x.Winner),
		int64(x.Bought[core.Yes]), int64(x.Bought[core.No]), int64(x.Sold[core.Yes]), int64(x.Sold[core.No]), int64(x.Redeemed),
		int64(x.Paid), int64(x.Received), int64(x.Fees), int64(x.Payout), profit, int64(x.UpdateSeq))
}

func (b *batch) RoundSecond(number uint64, s *view.RoundSecond) {
	b.add(roundSeconds, int64(number), s.Second, int64(s.Index), int64(s.Bid), int64(s.Ask), int64(s.Last), int64(s.Volume))
}

func (b *batch) Tick(f core.Feed, t *view.PriceTick) {
	b.put(ticks, rowKey{a: uint64(f), b: uint64(t.Second)}, int64(f), t.Second, int64(t.Price), int64(t.Sources))
}

// The kinds of evidence: the ticks of a round's strike, and those of its settle price.
const (
	strikeEvidence = "strike"
	settleEvidence = "settle"
)

func (b *batch) Round(r *view.Round) {
	b.put(rounds, rowKey{a: r.Number}, int64(r.Number), int64(r.Market), int64(r.Generation), int64(r.Category), int64(r.Feed), r.Window, r.Status.String(),
		int64(r.Strike), int64(r.Settle), winnerOf(r.Winner), int64(r.FreshCount), int64(r.Gen), r.OpenTs, r.CloseTs, r.FreezeTs, r.ResolveTs, r.ProposedTs,
		r.Paused, r.Covered, r.ByOperator, int64(r.Seq))
	switch r.Status {
	case core.Trading:
		b.evidence(r.Number, strikeEvidence, r.Strikes)
	case core.Frozen, core.Proposed:
		b.evidence(r.Number, settleEvidence, r.Evidence)
	}
}

func (b *batch) evidence(number uint64, kind string, ticks []core.IndexTick) {
	for i := range ticks {
		t := &ticks[i]
		b.put(evidence, rowKey{kind: kind, a: number, b: uint64(t.Second)}, int64(number), kind, t.Second, int64(t.Feed), int64(t.Price), int64(t.Count), t.Manual, sourcesJSON(t.Sources))
	}
}

type sourcePrice struct {
	Source string     `json:"source"`
	Price  core.Price `json:"price,string"`
}

func sourcesJSON(sources []core.SourcePrice) string {
	list := make([]sourcePrice, len(sources))
	for i, s := range sources {
		list[i] = sourcePrice{s.Name, s.Price}
	}
	return mustJSON(list)
}

func mustJSON(x any) string {
	b, err := json.Marshal(x)
	if err != nil { // strings and numbers can always be written
		panic(err)
	}
	return string(b)
}

func (b *batch) Action(a *view.Action) {
	var detail any
	if len(a.Detail) > 0 {
		detail = mustJSON(a.Detail)
	}
	refused := ""
	if a.Reject != core.OK {
		refused = a.Reject.String()
	}
	b.add(actions, int64(a.Seq), a.Ts, a.Who, a.Why, a.Name, orNull(a.User), orNull(a.Market), detail, textOrNull(refused))
}
