package core

// Mark identifies the bytes of a signed request: the first 16 bytes of the SHA-256 of its key,
// timestamp and signature (docs/rules/accounts.md#marks).
type Mark [16]byte

// MarkOf returns the mark of command i of a request with mark m. The commands of a batch share a
// signature, and none is a repeat of another.
func (m Mark) MarkOf(i int) Mark {
	m[14] ^= byte(i >> 8)
	m[15] ^= byte(i)
	return m
}

// The bounds of a mark (docs/rules/accounts.md#marks). MarkAheadMs is how far the time of signing
// may be ahead of the stamp, MarkLateMs how far behind; a mark is kept until then.
const (
	MarkAheadMs = 5250
	MarkLateMs  = 15_000
	MarksMax    = 1 << 20 // that are kept; a marked command beyond them has no effect
)

// Marked is a command that must not be executed twice, with the mark of its request. The members
// of a log of several machines send it, because the same bytes can reach two of them. Whether it
// is the first is judged when it is applied: a repeat and a late one take no seq and have no effect
// (docs/rules/accounts.md#marks). Class, account and key are those of Command.
type Marked struct {
	Mark     Mark
	SignedAt int64 // ms since the Unix epoch, as the request's timestamp says
	Command  Command
}

func (c *Marked) class() (Class, UserID) {
	if c.Command == nil {
		return ClassSystem, 0
	}
	return c.Command.class()
}

// Unmarked returns the command that cmd marks, or cmd.
func Unmarked(cmd Command) Command {
	if m, ok := cmd.(*Marked); ok {
		return m.Command
	}
	return cmd
}
