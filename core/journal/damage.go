package journal

import "fmt"

// Damage is why a log or a snapshot is refused. Nothing of the file was changed.
type Damage struct {
	File   string
	Offset int64  // bytes from the start of File to the part that is wrong
	Group  uint64 // the number of the group expected there; 0 if none
	Err    error
}

func (d *Damage) Error() string {
	if d.Group == 0 {
		return fmt.Sprintf("journal: damaged: %s at byte %d: %v", d.File, d.Offset, d.Err)
	}
	return fmt.Sprintf("journal: damaged: %s at byte %d, group %d: %v", d.File, d.Offset, d.Group, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

// Torn is the rest of a write that a crash interrupted: no group was lost that
// was ever delivered. Open cuts it; Scan, which changes nothing, yields it last.
type Torn struct {
	File   string
	Offset int64  // where it begins
	Bytes  int64  // how far it reaches
	Group  uint64 // the number it would have had
}

func (t *Torn) Error() string {
	return fmt.Sprintf("journal: torn tail: %s at byte %d, %d bytes of group %d", t.File, t.Offset, t.Bytes, t.Group)
}
