package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"duplex/core"
)

// Version is the version of the format. A file of another version is refused.
const Version = 1

// lineMax is the longest line in bytes. The body of a group has at most 16 MiB, which base64 makes
// a third longer.
const lineMax = 32 << 20

// A bundle has one row a line. A row is a JSON object whose first member is its kind. Numbers are
// integers of up to 64 bits, hashes are in hex, the body of a group is in base64. The rows of a
// group follow it, by rising seq; within one seq they are in the order of the events.
// docs/guides/data.md#the-format-of-a-bundle describes each member for readers of bundles.
type (
	headerRow struct {
		Version int    `json:"version"`
		Round   uint64 `json:"round"`
	}
	// groupRow is a group of the log. Seq and Ts are those of its first command that took a seq;
	// each further command is one higher in both.
	groupRow struct {
		Number   uint64 `json:"number"`
		Node     uint32 `json:"node"`
		Proposal uint64 `json:"proposal"`
		Stamp    int64  `json:"stamp"`
		Seq      uint64 `json:"seq"`
		Ts       int64  `json:"ts"`
		Skipped  []int  `json:"skipped,omitempty"` // indices of the commands of revoked keys, which took no seq
		Before   digest `json:"before"`
		Chain    digest `json:"chain"`
		Body     []byte `json:"body"`
	}
	tickRow struct {
		Seq     uint64     `json:"seq"`
		Second  int64      `json:"second"`
		Price   core.Price `json:"price"`
		Sources uint8      `json:"sources"`
		Manual  bool       `json:"manual"`
	}
	openRow struct {
		Seq         uint64        `json:"seq"`
		Ts          int64         `json:"ts"`
		Market      core.MarketID `json:"market"`
		Generation  uint32        `json:"generation"`
		Category    uint16        `json:"category"`
		Feed        core.Feed     `json:"feed"`
		Window      int64         `json:"window"`
		CloseTs     int64         `json:"close_ts"`
		Strike      core.Price    `json:"strike"`
		MakerRate   core.Rate     `json:"maker_rate"`
		TakerRate   core.Rate     `json:"taker_rate"`
		RebatePct   uint8         `json:"rebate_pct"`
		ReferralPct uint8         `json:"referral_pct"`
		MinSources  uint8         `json:"min_sources"`
	}
	// fillRow is one fill. The id of the taker's order is Seq.
	fillRow struct {
		Seq          uint64       `json:"seq"`
		TakerUser    core.UserID  `json:"taker_user"`
		TakerSide    side         `json:"taker_side"`
		TakerOutcome outcome      `json:"taker_outcome"`
		TakerFee     core.Pips    `json:"taker_fee"`
		Maker        core.OrderID `json:"maker"`
		MakerUser    core.UserID  `json:"maker_user"`
		MakerSide    side         `json:"maker_side"`
		MakerOutcome outcome      `json:"maker_outcome"`
		MakerFee     core.Pips    `json:"maker_fee"`
		YesTick      core.Tick    `json:"yes_tick"`
		Qty          core.Qty     `json:"qty"`
		Path         path         `json:"path"`
		Rebate       core.Pips    `json:"rebate"`
		Referral     core.Pips    `json:"referral"`
	}
	redeemRow struct {
		Seq    uint64      `json:"seq"`
		User   core.UserID `json:"user"`
		Qty    core.Qty    `json:"qty"`
		Credit core.Pips   `json:"credit"`
	}
	freezeRow struct {
		Seq         uint64     `json:"seq"`
		Ts          int64      `json:"ts"`
		SettlePrice core.Price `json:"settle_price"`
		Covered     int64      `json:"covered"`
		Sources     uint8      `json:"sources"`
	}
	proposeRow struct {
		Seq         uint64     `json:"seq"`
		Ts          int64      `json:"ts"`
		SettlePrice core.Price `json:"settle_price"`
		Winner      outcome    `json:"winner"`
		ByOperator  bool       `json:"by_operator"`
	}
	// settlementRow is what one account held and received at the settlement.
	settlementRow struct {
		Seq    uint64      `json:"seq"`
		User   core.UserID `json:"user"`
		Yes    core.Qty    `json:"yes"`
		No     core.Qty    `json:"no"`
		Payout core.Pips   `json:"payout"`
	}
	settleRow struct {
		Seq         uint64     `json:"seq"`
		Ts          int64      `json:"ts"`
		SettlePrice core.Price `json:"settle_price"`
		Winner      outcome    `json:"winner"`
		Pairs       core.Qty   `json:"pairs"`
		Paid        core.Pips  `json:"paid"`
	}
	endRow struct {
		Lines  int    `json:"lines"` // including this one
		SHA256 digest `json:"sha256"`
	}
)

// row is a pointer to one of the types above.
type row any

// headerKind begins a bundle and tells it from other files.
const headerKind = "duplex proof"

// newRow returns an empty row of a kind, or nil if there is no such kind.
func newRow(kind string) row {
	switch kind {
	case headerKind:
		return new(headerRow)
	case "group":
		return new(groupRow)
	case "tick":
		return new(tickRow)
	case "open":
		return new(openRow)
	case "fill":
		return new(fillRow)
	case "redeem":
		return new(redeemRow)
	case "freeze":
		return new(freezeRow)
	case "propose":
		return new(proposeRow)
	case "settlement":
		return new(settlementRow)
	case "settle":
		return new(settleRow)
	case "end":
		return new(endRow)
	}
	return nil
}

// kindOf returns the kind of a row.
func kindOf(r row) string {
	if _, ok := r.(*headerRow); ok {
		return headerKind
	}
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", r), "*proof."), "Row")
}

// encode returns the line of a row, with its newline.
func encode(r row) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	line := fmt.Appendf(make([]byte, 0, len(b)+32), `{"kind":"%s",`, kindOf(r))
	line = append(append(line, b[1:]...), '\n')
	if len(line) > lineMax {
		return nil, fmt.Errorf("a line of %d bytes; the format allows %d", len(line), lineMax)
	}
	return line, nil
}

var errNotABundle = errors.New("this is not a proof bundle: line 1 is not its header")

// decodeHeader reads the first line. It names the version of a file that it cannot read.
func decodeHeader(line []byte) (*headerRow, error) {
	if !bytes.HasPrefix(line, []byte(`{"kind":"`+headerKind+`",`)) {
		return nil, errNotABundle
	}
	var h struct {
		Version *int `json:"version"`
	}
	switch err := json.Unmarshal(line, &h); {
	case err != nil || h.Version == nil:
		return nil, errNotABundle
	case *h.Version != Version:
		return nil, fmt.Errorf("the bundle has version %d, and this program reads version %d", *h.Version, Version)
	}
	r, err := decode(line)
	if err != nil {
		return nil, err
	}
	return r.(*headerRow), nil
}

// IsBundle reports whether b begins as a bundle of a round does.
func IsBundle(b []byte, round uint64) bool {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	h, err := decodeHeader(append(bytes.Clone(line), '\n'))
	return err == nil && h.Round == round
}

// decode reads a line, with its newline. It refuses whatever encode would not write.
func decode(line []byte) (row, error) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"kind":"`))
	kind, members, found := bytes.Cut(rest, []byte(`",`))
	if !ok || !found {
		return nil, errors.New("the line does not begin with its kind")
	}
	r := newRow(string(kind))
	if r == nil {
		return nil, fmt.Errorf("the line has the kind %.20q, which does not exist", kind)
	}
	// The byte before members is a comma of this line, which its owner does not use again.
	object := line[len(line)-len(members)-1:]
	object[0] = '{'
	err := json.Unmarshal(object, r)
	object[0] = ','
	if err != nil {
		return nil, fmt.Errorf("the line is damaged: %w", err)
	}
	again, err := encode(r)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, line) {
		return nil, fmt.Errorf("the line is not in the form of a %s line", kind)
	}
	return r, nil
}

// digest is a SHA-256, in hex.
type digest [sha256.Size]byte

func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

func (d *digest) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(d)) {
		return errors.New("not a SHA-256 in hex")
	}
	_, err := hex.Decode(d[:], b)
	return err
}

// side, outcome and path are enums by their names.
type (
	side    core.Side
	outcome core.Outcome
	path    core.Path
)

func (s side) MarshalText() ([]byte, error)    { return []byte(core.Side(s).String()), nil }
func (o outcome) MarshalText() ([]byte, error) { return []byte(core.Outcome(o).String()), nil }
func (p path) MarshalText() ([]byte, error)    { return []byte(core.Path(p).String()), nil }

func (s *side) UnmarshalText(b []byte) error { return parse(s, b, side(core.Buy), side(core.Sell)) }
func (o *outcome) UnmarshalText(b []byte) error {
	return parse(o, b, outcome(core.Yes), outcome(core.No))
}
func (p *path) UnmarshalText(b []byte) error {
	return parse(p, b, path(core.Direct), path(core.Mint), path(core.Merge))
}

func parse[E interface{ MarshalText() ([]byte, error) }](to *E, b []byte, values ...E) error {
	for _, v := range values {
		if name, err := v.MarshalText(); err == nil && bytes.Equal(name, b) {
			*to = v
			return nil
		}
	}
	return fmt.Errorf("%.20q is none of its values", b)
}
