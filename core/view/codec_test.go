package view

import (
	"reflect"
	"testing"

	"duplex/core"
)

// extreme sets every field of a struct to its greatest value, or with low to its least.
func extreme(x reflect.Value, low bool) {
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
		default:
			panic(f.Kind())
		}
	}
}

// TestEveryFieldComesBack encodes and decodes extreme values of every field of every event. It fails for
// a field that was added to a struct and not to the codec.
func TestEveryFieldComesBack(t *testing.T) {
	const u = core.UserID(7)
	for _, low := range []bool{false, true} {
		for _, what := range []any{new(Order), new(Fill), new(Balance), new(core.Position), new(Settlement), new(core.Deposited), new(core.Withdrawal), new(core.DeadmanChanged)} {
			x := UserEvent{Seq: 1 << 40, Ts: -5, What: what}
			v := reflect.ValueOf(what).Elem()
			extreme(v, low)
			set := func(field string, to any) { // the fields that follow from the event and the account
				if f := v.FieldByName(field); f.IsValid() {
					f.Set(reflect.ValueOf(to))
				}
			}
			set("User", u)
			switch o := what.(type) {
			case *Order:
				o.ID = core.OrderID(o.CreatedSeq)
			case *Fill, *Settlement:
				set("Seq", x.Seq)
				set("Ts", x.Ts)
			}
			var scratch []byte
			list, err := unpack[UserEvent](pack[UserEvent]([]UserEvent{x, x}, &scratch), 2, u)
			if err != nil || !reflect.DeepEqual(list, []UserEvent{x, x}) {
				t.Errorf("%+v is decoded as %+v, %v", what, list[0].What, err)
			}
		}
	}
	x := UserEvent{Seq: 3, Ts: 4, What: KeyRevoked("dxk1")}
	var scratch []byte
	if list, err := unpack[UserEvent](pack[UserEvent]([]UserEvent{x}, &scratch), 1, u); err != nil || list[0] != x {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestCutEntries checks that missing and additional bytes are errors.
func TestCutEntries(t *testing.T) {
	var scratch []byte
	b := pack[UserEvent]([]UserEvent{{Seq: 9, What: &core.Withdrawal{ID: 9, ClientID: "w", Destination: "bank"}}}, &scratch)
	for n := range b {
		if _, err := unpack[UserEvent](b[:n], 1, 1); err == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(b))
		}
	}
	if _, err := unpack[UserEvent](append(b, 0), 1, 1); err == nil {
		t.Error("an additional byte is accepted")
	}
}
