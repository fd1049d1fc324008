package schemas

// None is a request without any field.
type None struct{}

// MinSeqQuery makes a read wait until the venue has applied a seq. Every read with an
// as_of_seq takes it (docs/rules/rest.md#min-seq).
type MinSeqQuery struct {
	MinSeq U64 `json:"min_seq,omitzero" in:"query" pattern:"^[0-9]+$" doc:"Wait for this seq"`
}

// Since returns the seq to wait for; 0 means none.
func (a MinSeqQuery) Since() uint64 { return uint64(a.MinSeq) }

// MinSeqOnly is a read whose only field is min_seq.
type MinSeqOnly struct{ MinSeqQuery }

// PageMax and PageDefault are the maximum and the default of `limit`
// (docs/rules/limits.md#page-size).
const (
	PageMax     = 1000
	PageDefault = 100
)

// Page selects one page of a list.
type Page struct {
	Limit  *Int   `json:"limit,omitempty" in:"query" minimum:"1" maximum:"1000" doc:"Page size"`
	Cursor string `json:"cursor,omitzero" in:"query" maxLength:"256" fault:"bad_cursor" doc:"From the page before"`
}

// Size returns the requested page size, or PageDefault.
func (p Page) Size() int {
	if p.Limit == nil {
		return PageDefault
	}
	return int(*p.Limit)
}

// SetDefault sets the page size if the request has none. The agent lane's default is
// smaller than REST's.
func (p *Page) SetDefault(n int) {
	if p.Limit == nil {
		p.SetSize(n)
	}
}

// SetSize sets the page size.
func (p *Page) SetSize(n int) { p.Limit = Ptr(Int(n)) }

// After returns the cursor; "" selects the first page.
func (p Page) After() string { return p.Cursor }

// AsOf is the seq after which a response is the state (docs/rules/rest.md#as-of-seq).
type AsOf struct {
	AsOfSeq U64 `json:"as_of_seq" pattern:"^[0-9]+$" doc:"Stream seq this is current as of"`
}

// PageEnd is the end of a list: the cursor of the next page, "" on the last page.
type PageEnd struct {
	Cursor string `json:"cursor" doc:"For the next page; empty at the end"`
	AsOf
}

// TimeRange selects the rows of a list with a ts of at least FromTs and below ToTs: orders by their
// created_ts, withdrawals by the ts of their last change.
type TimeRange struct {
	FromTs U64  `json:"from_ts,omitzero" in:"query" pattern:"^[0-9]+$" doc:"ns"`
	ToTs   *U64 `json:"to_ts,omitempty" in:"query" pattern:"^[0-9]+$" doc:"ns, exclusive"`
}

// Check rejects a from_ts after to_ts.
func (r *TimeRange) Check() *Fault {
	if r.ToTs != nil && r.FromTs > *r.ToTs {
		return schemaViolation("from_ts", "at most to_ts")
	}
	return nil
}
