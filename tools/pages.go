package tools

import (
	"sync"

	"duplex/core"
	"duplex/schemas"
)

// pages keeps, of each account, the page of orders it asked for last, written out: a bot
// asks the same again and again, and mostly nothing of it changed. A page is written
// ahead when it is asked for a second time without a change; an account whose orders
// move between any two questions costs nothing more than before.
type pages struct {
	mu   sync.Mutex
	kept map[core.UserID]*orderPage
}

// What is kept: so many accounts, and of each no more rows than a page has unless it is
// asked for more. 128 pages of 100 rows are 9 MB.
const (
	pagesKept = 128
	pageRows  = schemas.PageDefault
)

// orderPage is the answer to a question, as of a number of changes of the account.
type orderPage struct {
	asked   question
	changes uint64
	list    *schemas.OrderList // nil until it was asked for twice
}

// question is a ListOrders that can be compared.
type question struct {
	status, cursor     string
	client             schemas.U64
	market             schemas.Int
	byClient, byMarket bool
	size               int
}

func questionOf(in *schemas.ListOrders) question {
	q := question{status: in.Status, cursor: in.Cursor, size: in.Size()}
	if q.byClient = in.ClientOrderID != nil; q.byClient {
		q.client = *in.ClientOrderID
	}
	if q.byMarket = in.MarketID != nil; q.byMarket {
		q.market = *in.MarketID
	}
	return q
}

// get gives a page that is still true; nil if there is none. again tells that the page
// was asked for before and nothing changed since, so that it is worth keeping.
func (p *pages) get(u core.UserID, q question, changes uint64) (list *schemas.OrderList, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kept[u]
	if k == nil {
		if p.kept == nil {
			p.kept = map[core.UserID]*orderPage{}
		}
		if len(p.kept) >= pagesKept {
			for other := range p.kept { // any: whoever asks on is soon back
				delete(p.kept, other)
				break
			}
		}
		k = &orderPage{}
		p.kept[u] = k
	}
	if k.asked != q || k.changes != changes {
		*k = orderPage{asked: q, changes: changes}
		return nil, false
	}
	return k.list, true
}

// put keeps a page as of a number of changes, unless the account asks for another by now.
func (p *pages) put(u core.UserID, q question, changes uint64, list schemas.OrderList) {
	if len(list.Orders) > pageRows {
		return
	}
	list.Write()
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.kept[u]; k != nil && k.asked == q && k.changes == changes {
		k.list = &list
	}
}
