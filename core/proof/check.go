package proof

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"duplex/core"
	"duplex/core/journal"
)

// Report is what Check has recomputed.
type Report struct {
	Round       uint64
	Market      core.MarketID
	Generation  uint32
	Category    uint16
	Strike      core.Price
	SettlePrice core.Price
	Winner      core.Outcome
	ByOperator  bool  // an operator gave the settle price
	Covered     int64 // seconds of the settle window that have a price
	Window      int64 // seconds
	Fills       int
	Accounts    int       // that held contracts at the settlement
	Pairs       core.Qty  // open at the settlement
	Paid        core.Pips // sum of the payouts
	Groups      int
	First, Last journal.Position // of the included groups
	SHA256      [32]byte         // of all bytes before the last line
}

// Check reads a bundle to its end and recomputes everything in it. Its error names the first line
// that does not hold, and says whether the file has changed since it was written. It reads lines of
// at most lineMax bytes, and keeps the round's ticks, orders and accounts in memory.
func Check(in io.Reader) (Report, error) {
	c := &checker{state: state{orders: map[core.OrderID]*order{}, ordersOf: map[core.UserID][]*order{}, held: map[core.UserID]*[2]core.Qty{}}, proposals: map[uint32]uint64{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineMax+1)
	lines.Split(wholeLines)
	sum, n := sha256.New(), 0
	var wrong error // of the first line that does not hold
	var end *endRow
	for lines.Scan() {
		n++
		if end != nil {
			return c.report, fmt.Errorf("line %d: the bundle has ended before it", n)
		}
		line := lines.Bytes()
		if n == 1 {
			h, err := decodeHeader(line)
			if err != nil {
				return c.report, err
			}
			c.report.Round = h.Round
			sum.Write(line)
			continue
		}
		before := digest(sum.Sum(nil))
		r, err := decode(line)
		if e, ok := r.(*endRow); ok && err == nil {
			end = e
			c.report.SHA256 = before
			switch {
			case e.SHA256 != before:
				return c.report, errors.Join(fmt.Errorf("the file has been changed: its bytes have the SHA-256 %x, and its last line says %x", before, e.SHA256), wrong)
			case e.Lines != n && wrong == nil:
				wrong = fmt.Errorf("line %d: there are %d lines, and it says %d", n, n, e.Lines)
			case wrong == nil:
				wrong = c.finish()
			}
			continue
		}
		sum.Write(line)
		if wrong == nil {
			if err == nil {
				err = c.take(r)
			}
			if err != nil {
				wrong = fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	switch err := lines.Err(); {
	case n == 0 && (err == nil || errors.Is(err, errNoNewline)):
		return c.report, errNotABundle
	case errors.Is(err, bufio.ErrTooLong):
		return c.report, errors.Join(fmt.Errorf("line %d: it is longer than %d bytes", n+1, lineMax), wrong)
	case err != nil && !errors.Is(err, errNoNewline):
		return c.report, err
	case err != nil:
		return c.report, errors.Join(fmt.Errorf("line %d: %w", n+1, err), wrong)
	case end == nil:
		return c.report, errors.Join(errors.New("the file has been cut: its last line with the SHA-256 is missing"), wrong)
	}
	return c.report, wrong
}

var errNoNewline = errors.New("the file has been cut: the line does not end")

// wholeLines is a bufio.SplitFunc of lines with their newlines.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, errNoNewline
	}
	return 0, nil, nil
}

// checker checks the lines in order.
type checker struct {
	state
	report    Report
	proposals map[uint32]uint64 // the highest proposal of each node
	group     *groupRow         // the current one
	cmds      []sequenced       // of the current group that have not been applied
	lastSeq   uint64            // of the group before
	lastTs    int64
	rowSeq    uint64 // of the last line that was not a group
}

// sequenced is a command with its stamp.
type sequenced struct {
	core.Stamp
	cmd core.Command
}

// take checks one line between the header and the end.
func (c *checker) take(r row) error {
	if g, ok := r.(*groupRow); ok {
		return c.takeGroup(g)
	}
	if c.group == nil {
		return errors.New("it precedes the first group")
	}
	if _, ok := r.(*headerRow); ok {
		return errors.New("it is a second header")
	}
	if c.settled {
		return errors.New("it follows the settlement of the round")
	}
	seq, ts, stamped := stampOf(r)
	if seq < c.rowSeq {
		return fmt.Errorf("seq %d follows seq %d", seq, c.rowSeq)
	}
	c.rowSeq = seq
	if err := c.applyUntil(seq); err != nil {
		return err
	}
	if len(c.cmds) == 0 || c.cmds[0].Seq != seq {
		return fmt.Errorf("seq %d is not in group %d", seq, c.group.Number)
	}
	at := c.cmds[0]
	if stamped && ts != at.Ts {
		return fmt.Errorf("seq %d has the stamp %d, and it says %d", seq, at.Ts, ts)
	}
	return c.state.take(&c.report, at, r)
}

// applyUntil applies the commands of the current group before seq.
func (c *checker) applyUntil(seq uint64) error {
	for len(c.cmds) > 0 && c.cmds[0].Seq < seq {
		if err := c.state.apply(c.cmds[0]); err != nil {
			return err
		}
		c.cmds = c.cmds[1:]
	}
	return nil
}

// takeGroup verifies a group against its chain and the group before it, and decodes its commands.
func (c *checker) takeGroup(g *groupRow) error {
	if err := c.endGroup(); err != nil {
		return err
	}
	last := c.report.Last
	switch next := g.Number == last.Number+1; {
	case chainOf(g) != g.Chain:
		return fmt.Errorf("group %d does not have the chain that follows from the chain before and its content", g.Number)
	case c.group == nil:
	case g.Number <= last.Number:
		return fmt.Errorf("group %d follows group %d", g.Number, last.Number)
	case next && g.Before != digest(last.Chain):
		return fmt.Errorf("group %d does not continue the chain of group %d", g.Number, last.Number)
	case g.Stamp < last.Stamp, g.Seq <= c.lastSeq, g.Ts <= c.lastTs, next && g.Seq != c.lastSeq+1, next && g.Ts != max(g.Stamp, c.lastTs+1):
		return fmt.Errorf("the stamps of group %d do not continue those of group %d", g.Number, last.Number)
	case g.Proposal <= c.proposals[g.Node]:
		return fmt.Errorf("group %d repeats proposal %d of node %d, which has no effect", g.Number, g.Proposal, g.Node)
	}
	if g.Number < 1 || g.Seq < 1 || g.Ts < g.Stamp || g.Ts < 0 {
		return fmt.Errorf("group %d has a stamp that cannot be", g.Number)
	}
	cmds, i, skipped := c.cmds[:0], -1, g.Skipped
	for cmd, err := range journal.Commands(g.Body) {
		if err != nil {
			return fmt.Errorf("group %d: %w", g.Number, err)
		}
		if i++; len(skipped) > 0 && skipped[0] == i {
			skipped = skipped[1:]
			continue
		}
		n := len(cmds)
		cmds = append(cmds, sequenced{core.Stamp{Seq: g.Seq + uint64(n), Ts: g.Ts + int64(n)}, core.Unmarked(cmd)})
	}
	if len(skipped) > 0 || len(cmds) == 0 {
		return fmt.Errorf("group %d does not have the commands that it says", g.Number)
	}
	c.group, c.cmds, c.proposals[g.Node] = g, cmds, g.Proposal
	end := cmds[len(cmds)-1].Stamp
	c.lastSeq, c.lastTs = end.Seq, end.Ts
	c.report.Last = journal.Position{Number: g.Number, Chain: g.Chain, Stamp: g.Stamp}
	if c.report.Groups++; c.report.Groups == 1 {
		c.report.First = c.report.Last
	}
	g.Body = nil
	return nil
}

// endGroup applies what is left of the current group.
func (c *checker) endGroup() error {
	if c.settled && c.group != nil {
		return errors.New("it follows the settlement of the round")
	}
	return c.applyUntil(c.lastSeq + 1)
}

// finish checks that the bundle is complete.
func (c *checker) finish() error {
	if !c.settled {
		return errors.New("the settlement of the round is missing")
	}
	return nil
}

// chainOf computes the chain after a group from the chain before it
// (docs/guides/data.md#the-chain-of-a-group).
func chainOf(g *groupRow) digest {
	b := slices.Clone(g.Before[:])
	b = binary.LittleEndian.AppendUint64(b, g.Number)
	b = binary.LittleEndian.AppendUint32(b, g.Node)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(g.Body)))
	b = binary.LittleEndian.AppendUint64(b, g.Proposal)
	b = binary.LittleEndian.AppendUint64(b, uint64(g.Stamp))
	return sha256.Sum256(append(b, g.Body...))
}

// stampOf returns the seq of a row, and its ts if it has one.
func stampOf(r row) (seq uint64, ts int64, stamped bool) {
	switch r := r.(type) {
	case *tickRow:
		return r.Seq, 0, false
	case *fillRow:
		return r.Seq, 0, false
	case *redeemRow:
		return r.Seq, 0, false
	case *settlementRow:
		return r.Seq, 0, false
	case *openRow:
		return r.Seq, r.Ts, true
	case *freezeRow:
		return r.Seq, r.Ts, true
	case *proposeRow:
		return r.Seq, r.Ts, true
	case *settleRow:
		return r.Seq, r.Ts, true
	}
	return 0, 0, false
}
