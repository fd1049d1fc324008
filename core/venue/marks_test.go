package venue

import (
	"bytes"
	"testing"

	"duplex/core"
)

// TestMarks checks which marked commands take effect: the first of a mark, as long as the mark is kept,
// and only near the time of signing.
func TestMarks(t *testing.T) {
	v, now := New(), core.Stamp{Ts: 1_800_000_000 * core.NsPerSec}
	apply := func(c core.Command) {
		t.Helper()
		now.Seq++
		if r := v.Apply(now, c, &core.Events{}); r != core.OK {
			t.Fatal(r)
		}
	}
	for _, c := range rulesOf(core.RevisionNewest) {
		apply(c)
	}
	apply(&core.CreateUser{})
	apply(&core.Deposit{User: 1, DepositID: "d", Amount: 1000})
	marked := func(mark byte, signedAt int64) *core.Marked {
		return &core.Marked{Mark: core.Mark{mark}, SignedAt: signedAt, Command: &core.RequestWithdrawal{User: 1, ClientID: string(rune('a' + mark)), Amount: 1, Destination: "bank"}}
	}
	judge := func(c core.Command, want Judgment) (first uint64) {
		t.Helper()
		got, first := v.Judge(c, now.Ts)
		if got != want {
			t.Errorf("%+v at %d ms: judged %d, want %d", c, now.Ts/core.NsPerMs, got, want)
		}
		return first
	}
	ms := func() int64 { return now.Ts / core.NsPerMs }
	for _, c := range []struct {
		ahead int64 // of the stamp
		want  Judgment
	}{
		{0, Effective}, {core.MarkAheadMs, Effective}, {core.MarkAheadMs + 1, Late}, {-core.MarkLateMs, Effective}, {-core.MarkLateMs - 1, Late},
	} {
		judge(marked(1, ms()+c.ahead), c.want)
	}
	begun := ms()
	first := marked(1, begun+core.MarkAheadMs)
	apply(first)
	seq := now.Seq
	if got := judge(first, Repeated); got != seq {
		t.Errorf("the first command has seq %d, not %d", got, seq)
	}
	second := marked(2, begun)
	judge(second, Effective)
	apply(second)

	now.Ts += (core.MarkLateMs + 1) * core.NsPerMs
	apply(&core.Clock{})
	judge(second, Late)
	if v.MarkCount() != 2 {
		t.Errorf("%d marks are kept: the first is not late, and the second waits for it", v.MarkCount())
	}
	now.Ts = (begun + core.MarkAheadMs + core.MarkLateMs) * core.NsPerMs // the last moment at which the first would be in time
	judge(first, Repeated)
	now.Ts++
	apply(&core.Clock{})
	judge(first, Repeated) // within the same millisecond
	now.Ts += core.NsPerMs
	apply(&core.Clock{})
	judge(first, Late)
	if v.MarkCount() != 0 {
		t.Errorf("%d marks are kept", v.MarkCount())
	}
	if cash, _ := v.Balance(1); cash != 998 {
		t.Errorf("cash %d", cash)
	}
}

// TestMarksMax checks that a command is late if there is no room for its mark, until the oldest one is late.
func TestMarksMax(t *testing.T) {
	v, signed := New(), int64(1_800_000_000_000)
	for i := range core.MarksMax - 1 {
		at := signed
		if i == 0 {
			at -= 10 // the oldest is late before the others
		}
		v.marks.add(markRecord{mark: core.Mark{byte(i >> 16)}.MarkOf(i), signedAt: at})
	}
	judge := func(ms int64, want Judgment) {
		t.Helper()
		c := &core.Marked{Mark: core.Mark{99}, SignedAt: ms, Command: &core.Clock{}}
		if got, _ := v.Judge(c, ms*core.NsPerMs); got != want {
			t.Errorf("with %d marks, %d ms after the second: judged %d, want %d", v.MarkCount(), ms-signed, got, want)
		}
	}
	judge(signed, Effective)
	v.marks.add(markRecord{mark: core.Mark{98}, signedAt: signed})
	judge(signed+core.MarkLateMs-10, Late)
	judge(signed+core.MarkLateMs-9, Effective)
}

// TestMarksOfABatch checks that the commands of a batch have marks of their own.
func TestMarksOfABatch(t *testing.T) {
	seen := map[core.Mark]int{}
	for i := range 1 << 16 {
		m := core.Mark{15: 7}.MarkOf(i)
		if before, twice := seen[m]; twice {
			t.Fatalf("commands %d and %d have one mark", before, i)
		}
		seen[m] = i
	}
}

// TestMarksAreRestored checks the pieces of an encoded state around the length of one.
func TestMarksAreRestored(t *testing.T) {
	for _, n := range []int{0, 1, 2, marksInChunk - 1, marksInChunk, marksInChunk + 1, 2*marksInChunk - 1, 2 * marksInChunk} {
		v := New()
		for i, c := range rulesOf(core.RevisionNewest) {
			v.Apply(core.Stamp{Seq: uint64(i + 1), Ts: int64(i + 1)}, c, &core.Events{})
		}
		for i := range n {
			v.marks.add(markRecord{core.Mark{}.MarkOf(i), uint64(i + 1), int64(i)})
		}
		b := bytesOf(t, v)
		again, err := Restore(b)
		if err != nil {
			t.Errorf("%d marks: %v", n, err)
			continue
		}
		if !bytes.Equal(b, bytesOf(t, again)) || again.MarkCount() != n {
			t.Errorf("%d marks are not restored as they were", n)
		}
		if n < 2 {
			continue
		}
		v.marks.chunks[0][1].mark = v.marks.chunks[0][0].mark
		if _, err := Restore(bytesOf(t, v)); err == nil {
			t.Error("a state with one mark twice is restored")
		}
	}
}
