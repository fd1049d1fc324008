package view

import (
	"reflect"
	"testing"

	"duplex/core"
)

// setExtremes sets every field of a struct to its highest value, or with low to its lowest.
func setExtremes(x reflect.Value, low bool) {
	for i := range x.NumField() {
		switch f := x.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(!low)
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			most := int64(1)<<(f.Type().Bits()-1) - 1
			if low {
				most = -most - 1
			}
			f.SetInt(most)
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			if low {
				f.SetUint(0)
			} else {
				f.SetUint(1<<f.Type().Bits() - 1)
			}
		case reflect.String:
			f.SetString("some text")
		case reflect.Pointer: // of an order or a fill: the account's keys give it
		default:
			panic(f.Kind())
		}
	}
}

// Decoding returns every field of every kind of event. A field that is added to a struct and
// not to the codec fails here.
func TestCodecKeepsEveryField(t *testing.T) {
	const u = core.UserID(7)
	for _, low := range []bool{false, true} {
		for _, what := range []any{new(Order), new(Fill), new(Balance), new(core.Position), new(Settlement), new(core.Deposited), new(core.Withdrawal), new(core.DeadmanChanged), new(core.Transferred), new(core.AgentChanged)} {
			x := UserEvent{Seq: 1 << 40, Ts: -5, What: what}
			v := reflect.ValueOf(what).Elem()
			setExtremes(v, low)
			set := func(field string, to any) { // fields that the codec takes from the event or the account
				if f := v.FieldByName(field); f.IsValid() && f.Kind() != reflect.Pointer {
					f.Set(reflect.ValueOf(to))
				}
			}
			set("User", u)
			switch o := what.(type) {
			case *Order:
				o.ID = core.OrderID(o.CreatedSeq)
			case *Fill, *core.Transferred:
				set("Seq", x.Seq)
				set("Ts", x.Ts)
			case *Settlement:
				set("Seq", x.Seq)
				set("Ts", x.Ts)
				o.Status = core.Void
			case *core.AgentChanged:
				o.State = core.AgentClosed
			}
			var scratch []byte
			list, err := decodeChunk[UserEvent](encodeChunk[UserEvent]([]UserEvent{x, x}, &scratch), 2, u)
			if err != nil || !reflect.DeepEqual(list, []UserEvent{x, x}) {
				t.Errorf("encoded %+v, decoded %+v, %v", what, list[0].What, err)
			}
		}
	}
	x := UserEvent{Seq: 3, Ts: 4, What: KeyRevoked("dxk1")}
	var scratch []byte
	if list, err := decodeChunk[UserEvent](encodeChunk[UserEvent]([]UserEvent{x}, &scratch), 1, u); err != nil || list[0] != x {
		t.Errorf("%+v, %v", list, err)
	}
}

// checkCodec encodes and decodes a chunk with a row of extremes between two of zeros, whole and
// truncated.
func checkCodec[T any, P entry[T]](t *testing.T, adjust func(*T)) {
	t.Helper()
	var list []T
	for _, low := range []bool{true, false, false, true} {
		var x T
		setExtremes(reflect.ValueOf(&x).Elem(), low)
		adjust(&x)
		list = append(list, x)
	}
	list = append(list, *new(T))
	var scratch []byte
	b := encodeChunk[T, P](list, &scratch)
	got, err := decodeChunk[T, P](b, len(list), 7)
	if err != nil || !reflect.DeepEqual(got, list) {
		t.Errorf("encoded %+v, decoded %+v, %v", list, got, err)
	}
	if err := validateChunk[T, P](b, len(list), 7); err != nil {
		t.Errorf("%T: %v", *new(T), err)
	}
	for n := range b {
		if _, err := decodeChunk[T, P](b[:n], len(list), 7); err == nil {
			t.Errorf("%T: %d of %d bytes were accepted", *new(T), n, len(b))
		}
	}
}

// Decoding returns every field of rows that are no events.
func TestCodecKeepsEveryRow(t *testing.T) {
	checkCodec(t, func(r *LedgerRow) { r.Kind = ledgerKinds - 1 })
	checkCodec(t, func(*Deposit) {})
	checkCodec(t, func(f *Forecast) {
		f.N, f.P, f.Counts, f.Final, f.Winner = 0, min(f.P, core.ProbabilityMax), false, false, 0
	})
	checkCodec(t, func(f *Fill) { f.N = min(f.N, f.Number) })
	checkCodec(t, func(s *Settlement) { s.Status = core.Void })
}

// Results of rounds keep every field. Numbers that do not rise, and a status that there is not, are
// errors.
func TestCodecOfAccountRounds(t *testing.T) {
	full := &AccountRound{
		Number: 9, Market: 32, Generation: 1<<32 - 1, Category: 1<<16 - 1, Status: core.Settled, Winner: core.NoOutcome,
		Bought: [2]core.Qty{1 << 40, 2}, Sold: [2]core.Qty{3, 1 << 41}, Redeemed: 5, Paid: core.PipsMax, Received: 6, Fees: 7, Payout: core.PipsMax - 1, UpdateSeq: 1<<64 - 1,
	}
	for v, i := reflect.ValueOf(full).Elem(), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the test leaves %s at 0", v.Type().Field(i).Name)
		}
	}
	decode := func(list accountRounds) (got accountRounds, err error) {
		var written coder
		list.code(&written)
		c := coder{reading: true, b: written.b}
		if got.code(&c); c.err == nil && got.final() != 1 {
			t.Errorf("%d rounds are final, want 1", got.final())
		}
		return got, c.end()
	}
	if got, err := decode(accountRounds{{Number: 1}, full}); err != nil || !reflect.DeepEqual(got, accountRounds{{Number: 1}, full}) {
		t.Errorf("decoded %+v, %v", got, err)
	}
	for _, bad := range []accountRounds{{full, full}, {full, {Number: 8}}, {{Number: 1, Status: core.Void + 1}}} {
		if _, err := decode(bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// Truncated input and input with a byte too many are errors.
func TestTruncatedEntries(t *testing.T) {
	var scratch []byte
	b := encodeChunk[UserEvent]([]UserEvent{{Seq: 9, What: &core.Withdrawal{ID: 9, ClientID: "w", Destination: "bank"}}}, &scratch)
	for n := range b {
		if _, err := decodeChunk[UserEvent](b[:n], 1, 1); err == nil {
			t.Errorf("%d of %d bytes were accepted", n, len(b))
		}
	}
	if _, err := decodeChunk[UserEvent](append(b, 0), 1, 1); err == nil {
		t.Error("an extra byte was accepted")
	}
}
