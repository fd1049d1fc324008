package journal

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"duplex/core"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// allKinds returns one empty command of each kind, by its number.
func allKinds() map[byte]core.Command { return maps.Collect(Kinds()) }

// randomCommand returns a random command of a kind that Encode accepts.
func randomCommand(rt *rapid.T, kind byte) core.Command {
	cmd := reflect.New(reflect.TypeOf(allKinds()[kind]).Elem())
	fill(rt, cmd.Elem())
	return cmd.Interface().(core.Command)
}

var (
	rejects = []core.Reject{core.OK, core.UnknownMarket, core.StaleGeneration, core.UnknownUser, core.WithdrawalRefused}
	tops    = map[reflect.Type]uint64{
		reflect.TypeFor[core.Side]():      uint64(core.Sell),
		reflect.TypeFor[core.Outcome]():   uint64(core.No),
		reflect.TypeFor[core.OrderType](): uint64(core.Market),
		reflect.TypeFor[core.TIF]():       uint64(core.FOK),
		reflect.TypeFor[core.Flags]():     uint64(flagsMax),

		reflect.TypeFor[core.Probability](): uint64(core.ProbabilityMax),
		reflect.TypeFor[core.Feed]():        uint64(core.WTI),
		reflect.TypeFor[core.Scopes]():      7,
		reflect.TypeFor[core.Revision]():    0, // as in SetRules
		reflect.TypeFor[core.Environment](): uint64(core.EnvironmentArena),

		reflect.TypeFor[core.Role]():         uint64(core.RoleService),
		reflect.TypeFor[core.ApprovalKind](): uint64(core.ApproveFees),

		reflect.TypeFor[core.WithdrawalState](): uint64(core.WithdrawalFailed),
	}
)

func fill(rt *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(rt, v.Field(i))
		}
		if b, ok := v.Addr().Interface().(*core.Band); ok {
			b.Step = core.Tick(rapid.Int32Range(1, math.MaxInt32).Draw(rt, "step"))
		}
		if m, ok := v.Addr().Interface().(*core.Mandate); ok {
			m.Set &= 1<<len(core.MandateRules()) - 1
		}
		if c, ok := v.Addr().Interface().(*core.PlaceOrder); ok {
			c.Unpriced = c.Unpriced && c.Type == core.Market
		}
		if c, ok := v.Addr().Interface().(*core.ActivateRules); ok {
			c.Revision = core.Revision(rapid.IntRange(int(core.RevisionOldest), int(core.RevisionNewest)).Draw(rt, "revision"))
		}
		if c, ok := v.Addr().Interface().(*core.Marked); ok {
			c.SignedAt &= signedAtMax - 1
		}
	case reflect.Interface: // of core.Marked
		v.Set(reflect.ValueOf(randomCommand(rt, rapid.SampledFrom([]byte{7, 8, 9, 10, 26, 27, 28, 29, 55, 56}).Draw(rt, "kind"))))
	case reflect.Array:
		for i := range v.Len() {
			fill(rt, v.Index(i))
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 4).Draw(rt, "len"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(rt, v.Index(i))
			}
		}
	case reflect.String:
		v.SetString(rapid.String().Draw(rt, "string"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(rt, "bool"))
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		bits := v.Type().Bits()
		v.SetInt(rapid.Int64Range(math.MinInt64>>(64-bits), math.MaxInt64>>(64-bits)).Draw(rt, "int"))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Type() == reflect.TypeFor[core.Reject]() {
			v.SetUint(uint64(rapid.SampledFrom(rejects).Draw(rt, "reject")))
			return
		}
		top, ok := tops[v.Type()]
		if !ok {
			top = math.MaxUint64 >> (64 - v.Type().Bits())
		}
		v.SetUint(rapid.Uint64Range(0, top).Draw(rt, "uint"))
	default:
		panic("a field of an unexpected kind: " + v.Type().String())
	}
}

// TestMarksOfEveryKey checks that each command that a key sends can be marked, as each member of several does.
func TestMarksOfEveryKey(t *testing.T) {
	for _, cmd := range Kinds() {
		if _, marked := cmd.(*core.Marked); marked || core.KeyField(cmd) == nil {
			continue
		}
		wire, err := Encode(nil, &core.Marked{SignedAt: 1, Command: cmd})
		if err != nil {
			t.Errorf("%T: %v", cmd, err)
			continue
		}
		if got, err := Decode(wire); err != nil || reflect.TypeOf(core.Unmarked(got)) != reflect.TypeOf(cmd) {
			t.Errorf("%T: %T, %v", cmd, got, err)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for kind := range allKinds() {
		t.Run(fmt.Sprintf("%T", allKinds()[kind])[6:], rapid.MakeCheck(func(rt *rapid.T) {
			cmd := randomCommand(rt, kind)
			b, err := Encode([]byte("before"), cmd)
			if err != nil {
				rt.Fatal(err)
			}
			if !bytes.HasPrefix(b, []byte("before")) || b[6] != kind {
				rt.Fatalf("the encoding is % x, want %q and then kind %d", b, "before", kind)
			}
			b = b[6:]
			got, err := Decode(b)
			if err != nil {
				rt.Fatal(err)
			}
			if !reflect.DeepEqual(got, cmd) {
				rt.Fatalf("got  %+v\nwant %+v", got, cmd)
			}
			for n := range b {
				if _, err := Decode(b[:n]); err == nil {
					rt.Fatalf("the first %d of %d bytes decode", n, len(b))
				}
			}
			if _, err := Decode(append(b, 0)); err == nil {
				rt.Fatal("an encoding with an additional byte decodes")
			}
		}))
	}
}

func TestBodyRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom(slices.Sorted(maps.Keys(allKinds()))), 0, 12).Draw(rt, "kinds")
		var body []byte
		var want []core.Command
		for _, kind := range kinds {
			cmd := randomCommand(rt, kind)
			var err error
			if body, err = AppendCommand(body, cmd); err != nil {
				rt.Fatal(err)
			}
			want = append(want, cmd)
		}
		var got []core.Command
		for cmd, err := range Commands(body) {
			if err != nil {
				rt.Fatal(err)
			}
			got = append(got, cmd)
		}
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}

// TestBodyLongCommand checks commands whose length takes more than one byte, between others.
func TestBodyLongCommand(t *testing.T) {
	for _, n := range []int{0, 60, 127, 128, 129, 4000, 20000} {
		long := &core.CreateKey{Label: strings.Repeat("x", n)}
		body := []byte{}
		for _, cmd := range []core.Command{&core.Clock{}, long, &core.Clock{}, long} {
			var err error
			if body, err = AppendCommand(body, cmd); err != nil {
				t.Fatal(err)
			}
		}
		i := 0
		for cmd, err := range Commands(body) {
			if err != nil {
				t.Fatal(n, err)
			}
			if i%2 == 1 && !reflect.DeepEqual(cmd, long) {
				t.Fatalf("%d: got %+v", n, cmd)
			}
			i++
		}
		if i != 4 {
			t.Fatalf("%d commands", i)
		}
	}
}

// TestEncodeRefuses checks that Encode refuses what Decode would refuse, and then leaves the
// body unchanged.
func TestEncodeRefuses(t *testing.T) {
	long := strings.Repeat("x", stringMax+1)
	for _, cmd := range []core.Command{
		nil,
		&core.PlaceOrder{Side: 2},
		&core.PlaceOrder{Outcome: core.NoOutcome},
		&core.PlaceOrder{Type: 2},
		&core.PlaceOrder{TIF: 4},
		&core.PlaceOrder{Flags: 16},
		&core.PlaceOrder{Fault: 1},
		&core.PostIndex{Tick: core.IndexTick{Feed: core.Feeds}},
		&core.PostIndex{Audit: core.Audit{Why: long}},
		&core.PostIndex{Tick: core.IndexTick{Sources: []core.SourcePrice{{Name: long}}}},
		&core.PostIndex{Tick: core.IndexTick{Sources: make([]core.SourcePrice, sourcesMax+1)}},
		&core.SetSession{Feed: core.Feeds},
		&core.CreateKey{Scopes: 8},
		&core.CreateKey{Label: "\xff"},
		&core.SetRules{Rules: core.Rules{Grid: core.Grid{Bands: []core.Band{{}}}}},
		&core.SetRules{Rules: core.Rules{Revision: core.RevisionOldest}},
		&core.ActivateRules{Revision: core.RevisionNewest + 1},
		&core.ActivateRules{Revision: core.RevisionOldest - 1},
		&core.ActivateRules{Revision: core.RevisionNewest, Environment: core.EnvironmentArena + 1},
		&core.PlaceOrder{Unpriced: true},
		&core.SetMandate{Mandate: core.Mandate{Set: 1 << len(core.MandateRules())}},
		&core.CreateAgent{Mandate: core.Mandate{Set: 1 << 15}},
		&core.CreateKey{Sealed: make([]byte, CommandMax)},
		&core.AddOperator{Role: core.RoleService + 1},
		&core.RequestApproval{Action: core.ApprovalAction{Kind: core.ApproveFees + 1}},
		&core.DecideWithdrawal{To: core.WithdrawalFailed + 1},
		&core.DecideApproval{Action: core.ApprovalAction{Feed: core.Feeds}},
	} {
		body, err := AppendCommand([]byte("as it was"), cmd)
		if err == nil || string(body) != "as it was" {
			t.Errorf("%+v is appended as %q, %v, want an error and nothing appended", cmd, body, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, h := range []string{
		"", "00", "25", "ff", // no kind, and numbers without a kind
		"0500",                // Clock has no payload
		"02010180",            // a number cut short
		"02810001",            // a number that is not in its shortest form
		"028080808010" + "01", // a user beyond 32 bits
		"1b80",                // the number of a key cut short
		"1a00" + "020304052b0f9811e012a8140e0f00", // a limit order without a price
		"0301010202",                   // a flag of 2
		"08a0",                         // DisarmDeadman without its field decodes: the field is zero
		"08a2645573657201645573657202", // a field twice
		"08a1644e6f6e6501",             // an unknown field
		"08a1647573657201",             // a field in lower case
		"08bf6455736572" + "01ff",      // a map of indefinite length
	} {
		b, err := hex.DecodeString(h)
		if err != nil {
			t.Fatal(err)
		}
		cmd, err := Decode(b)
		if (err == nil) != (h == "08a0") {
			t.Errorf("%s decodes as %+v, %v, want only 08a0 to be valid", h, cmd, err)
		}
	}
}

// TestGoldenBytes compares the bytes on disk of one command of each kind. If they differ, this
// build misreads the journals of older builds.
func TestGoldenBytes(t *testing.T) {
	var out strings.Builder
	all := allKinds()
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		cmd := all[kind]
		n := 0
		numberFields(reflect.ValueOf(cmd).Elem(), &n)
		b, err := Encode(nil, cmd)
		if err != nil {
			t.Fatal(err)
		}
		shown := fmt.Sprintf("%+v", reflect.ValueOf(cmd).Elem().Interface())
		if c, ok := cmd.(*core.Marked); ok {
			shown = fmt.Sprintf("{Mark:%v SignedAt:%d Command:%+v}", c.Mark, c.SignedAt, c.Command)
		}
		fmt.Fprintf(&out, "%T\n\t%s\n\t%x\n", cmd, shown, b)
	}
	path := filepath.Join("testdata", "codec.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, path, []byte(out.String()))
	}
	if want := string(mustRead(t, path)); want != out.String() {
		t.Errorf("the encodings changed:\n%s", out.String())
	}
}

// TestRulesOfOlderLogs checks that rules without MinSources have the encoding that they had
// before the field existed, in both directions, so that older states keep their hashes.
func TestRulesOfOlderLogs(t *testing.T) {
	const old = "0ca2654175646974a26357686f6373323063576879637332316552756c6573a66447726964a2644e616d656273346542616e647382a362546f1903206446726f6d1902bc6453746570190384a362546f1904b06446726f6d19044c6453746570190514675374616c654e7319064069436f6e74726163747319070869446973707574654e731905786a4f70656e4f7264657273116e436f766572616765576169744e731905dc"
	b, err := hex.DecodeString(old)
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if rules := cmd.(*core.SetRules).Rules; rules.OpenOrders != 17 || rules.MinSources != [core.Feeds]uint8{} {
		t.Errorf("the rules of an older log: %+v, want 17 open orders and no sources required", rules)
	}
	if again, err := Encode(nil, cmd); err != nil || hex.EncodeToString(again) != old {
		t.Errorf("the rules of an older log are encoded as %x, %v, want %s", again, err, old)
	}
}

// numberFields sets every field to a different value, within the range of enums.
func numberFields(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			numberFields(v.Field(i), n)
		}
	case reflect.Interface: // of core.Marked
		numberFields(v.Elem().Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		numberFields(v.Index(0), n)
		numberFields(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			numberFields(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("s", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n) * 100)
	default:
		switch top, ok := tops[v.Type()]; {
		case v.Type() == reflect.TypeFor[core.Reject]():
			v.SetUint(uint64(core.BadQty))
		case ok:
			v.SetUint(top)
		default:
			v.SetUint(uint64(*n))
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, cmd := range allKinds() {
		n := 0
		numberFields(reflect.ValueOf(cmd).Elem(), &n)
		b, err := Encode(nil, cmd)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, err := range Commands(b) {
			_ = err // it must not panic
		}
		cmd, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Encode(nil, cmd)
		if err != nil {
			t.Fatalf("decodes but does not encode: %v", err)
		}
		if again[0] == b[0] && bytes.IndexByte([]byte{5, 6, 26, 27, 28, 29}, b[0]) >= 0 && !bytes.Equal(again, b) { // packed
			t.Fatalf("two encodings of one command: % x and % x", b, again)
		}
		back, err := Decode(again)
		if err != nil || !reflect.DeepEqual(back, cmd) {
			t.Fatalf("%+v comes back as %+v, %v", cmd, back, err)
		}
	})
}

var anOrder = core.PlaceOrder{
	User: 1234, ClientID: 1 << 40, Market: 17, Generation: 99, Side: core.Sell, Outcome: core.No,
	Tick: 4300, Qty: 250, Expiry: 1_790_000_000_000_000_000, MaxCost: 1_000_000, Group: 3,
}

// TestReplaceOfAnOlderJournal checks that a replace of before revision 10 has kept its bytes.
func TestReplaceOfAnOlderJournal(t *testing.T) {
	b, err := hex.DecodeString("361404030506073f0fa814f015b81710118502")
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := Decode(b)
	want := &core.ReplaceOrder{Old: 20, PlaceOrder: core.PlaceOrder{
		User: 3, Key: 4, ClientID: 5, Market: 6, Generation: 7, Side: core.Sell, Outcome: core.No, Type: core.Market, TIF: core.FOK, Flags: 15,
		Tick: 1300, Qty: 1400, Expiry: 1500, MaxCost: 16, Group: 17, Fault: core.BadQty, Unpriced: true,
	}}
	if err != nil || !reflect.DeepEqual(cmd, want) {
		t.Errorf("%x is read as %+v, %v, want %+v", b, cmd, err, want)
	}
}

// TestKindOf checks that the switch of kindOf agrees with the table.
func TestKindOf(t *testing.T) {
	for n, cmd := range Kinds() {
		if got := kindOf(cmd); got != n || kindByType[reflect.TypeOf(cmd)] != n {
			t.Errorf("kindOf(%T) = %d, want %d", cmd, got, n)
		}
	}
}

func TestEncodePlaceOrderAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { buf, _ = AppendCommand(buf[:0], &anOrder) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// BenchmarkCodec measures the packed commands of orders, and one command in CBOR.
func BenchmarkCodec(b *testing.B) {
	for _, cmd := range []core.Command{
		&anOrder, &core.CancelOrder{User: 1234, Order: 1 << 33}, &core.DecreaseOrder{User: 1234, Order: 1 << 33, Amount: 7}, &core.CancelAll{User: 1234}, &core.Clock{},
		&core.SuspendUser{User: 1234, Audit: core.Audit{Who: "operator", Why: "a test"}},
	} {
		name := fmt.Sprintf("%T", cmd)[len("*core."):]
		buf, err := Encode(make([]byte, 0, 256), cmd)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("Encode"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = Encode(buf[:0], cmd)
			}
			b.ReportMetric(float64(len(buf)), "bytes")
		})
		b.Run("Decode"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
