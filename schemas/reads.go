package schemas

// None is a request without any field.
type None struct{}

// AsOf lets a read wait for a command the caller has seen. Every read whose answer
// carries as_of_seq takes it (contract rest).
type AsOf struct {
	MinSeq U64 `json:"min_seq,omitzero" in:"query" pattern:"^[0-9]+$" doc:"Wait for this seq"`
}

// Since is the seq to wait for; 0 is none.
func (a AsOf) Since() uint64 { return uint64(a.MinSeq) }

// Now is a read without a field of its own.
type Now struct{ AsOf }

// PageMax and PageDefault bound `limit` (spec 1.1).
const (
	PageMax     = 1000
	PageDefault = 100
)

// Page asks for a stretch of a list.
type Page struct {
	Limit  *Int   `json:"limit,omitempty" in:"query" minimum:"1" maximum:"1000" doc:"Page size"`
	Cursor string `json:"cursor,omitzero" in:"query" maxLength:"256" fault:"bad_cursor" doc:"From the page before"`
}

// Size is the page size asked for, else PageDefault.
func (p Page) Size() int {
	if p.Limit == nil {
		return PageDefault
	}
	return int(*p.Limit)
}

// SetDefault gives the page a size where the caller gave none; the agent lane's
// default is smaller than REST's.
func (p *Page) SetDefault(n int) {
	if p.Limit == nil {
		p.Limit = Of(Int(n))
	}
}

// After is the cursor; "" asks for the first page.
func (p Page) After() string { return p.Cursor }

// Seen is the stream sequence number an answer is current as of (spec 1.1).
type Seen struct {
	AsOfSeq U64 `json:"as_of_seq" pattern:"^[0-9]+$" doc:"Stream seq this is current as of"`
}

// More ends a list: the cursor of the next page, "" when exhausted.
type More struct {
	Cursor string `json:"cursor" doc:"For the next page; empty at the end"`
	Seen
}
