package core

// QuoteSide quotes one side of a market for a group of orders, which then has at most one order there
// (docs/rules/orders.md#quotes). The placement names YES: a bid buys it, an ask sells it. The venue sells or
// buys NO instead where that is the same price and costs less. With Cancel the side is emptied, and Side,
// Market, Generation, Group and NotAfter count alone.
type QuoteSide struct {
	PlaceOrder
	Cancel bool
}

// QuoteFlags are the flags of the order of a quote.
const QuoteFlags = PostOnly | CancelOnPause

// The commands about the bound of a group of orders (docs/rules/orders.md#group-bounds). Group is not 0.
type (
	// SetGroup sets the bound: FillLimit contracts in WindowMs milliseconds.
	SetGroup struct {
		User      UserID
		Key       KeyNumber `cbor:",omitempty"`
		Group     uint32
		FillLimit Qty
		WindowMs  uint32
	}
	// ResetGroup lets a group that has tripped take orders again.
	ResetGroup struct {
		User  UserID
		Key   KeyNumber `cbor:",omitempty"`
		Group uint32
	}
	// DeleteGroup removes the bound and leaves the orders.
	DeleteGroup struct {
		User  UserID
		Key   KeyNumber `cbor:",omitempty"`
		Group uint32
	}
)

// The commands about connections whose end cancels orders (docs/rules/orders.md#cancel-on-disconnect). Session
// is a random number of a process, not 0. Node is its machine; 0 in a log of one machine, which sends no beats.
type (
	// BindOrders binds the orders of the account, or of a group, to a connection. The newest one has them. With
	// Release set none has.
	BindOrders struct {
		User    UserID
		Key     KeyNumber `cbor:",omitempty"`
		Group   uint32    `cbor:",omitempty"`
		Release bool      `cbor:",omitempty"`
		Line    Line
	}
	// EndConnection cancels what is bound to a connection of the account.
	EndConnection struct {
		User UserID
		Line Line
	}
	// Beat says that a process of Node lives. What is bound to an earlier process of it is canceled.
	Beat struct {
		Node    uint32 `cbor:",omitempty"`
		Session uint64
	}
)

// Line names a connection.
type Line struct {
	Node    uint32 `cbor:",omitempty"`
	Session uint64
	Conn    uint64 // its number in the process
}

func (c *QuoteSide) class() (Class, UserID)     { return ClassPlacement, c.User }
func (c *SetGroup) class() (Class, UserID)      { return ClassPlacement, c.User }
func (c *ResetGroup) class() (Class, UserID)    { return ClassPlacement, c.User }
func (c *DeleteGroup) class() (Class, UserID)   { return ClassPlacement, c.User }
func (c *BindOrders) class() (Class, UserID)    { return ClassCancel, c.User }
func (c *EndConnection) class() (Class, UserID) { return ClassCancel, c.User }
func (*Beat) class() (Class, UserID)            { return ClassSystem, 0 }
