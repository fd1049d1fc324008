package schemas

import (
	"slices"
	"strconv"
)

// The answers that are written most, and the long ones, have encoders by hand. They
// write what Append writes, byte for byte; their words need no escaping, being ours.

// Append writes o as JSON behind dst.
func (o *Outcome) Append(dst []byte) []byte {
	dst = appendU64(append(dst, `{"order_id":`...), o.OrderID)
	dst = appendU64(append(dst, `,"client_order_id":`...), o.ClientOrderID)
	dst = appendWord(append(dst, `,"status":`...), o.Status)
	dst = appendU64(append(dst, `,"seq":`...), o.Seq)
	dst = strconv.AppendInt(append(dst, `,"filled_qty":`...), o.FilledQty, 10)
	dst = strconv.AppendInt(append(dst, `,"resting_qty":`...), o.RestingQty, 10)
	dst = append(dst, `,"fills":[`...)
	for i := range o.Fills {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = o.Fills[i].append(dst)
	}
	dst = append(dst, ']')
	if o.Reason != "" {
		dst = appendWord(append(dst, `,"reason":`...), o.Reason)
	}
	return append(dst, '}')
}

func (f *OutcomeFill) append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"tick_yes":`...), f.TickYes, 10)
	dst = strconv.AppendInt(append(dst, `,"qty":`...), f.Qty, 10)
	return append(appendWord(append(dst, `,"path":`...), f.Path), '}')
}

// Append writes b as JSON behind dst.
func (b *Balance) Append(dst []byte) []byte {
	dst = appendU64(append(dst, `{"cash":`...), b.Cash)
	dst = appendU64(append(dst, `,"reserved":`...), b.Reserved)
	return append(appendU64(append(dst, `,"as_of_seq":`...), b.AsOfSeq), '}')
}

// Append writes l as JSON behind dst.
func (l *OrderList) Append(dst []byte) []byte {
	dst = slices.Grow(dst, 64+len(l.Orders)*orderBytes)
	if l.text != nil {
		dst = append(dst, l.text...)
	} else {
		dst = l.list(dst)
	}
	return append(l.Seen.members(dst), '}')
}

// Write writes l once and for all: whatever Append is called for later differs in Seen
// alone. Orders and cursor must stay as they are.
func (l *OrderList) Write() { l.text = slices.Clip(l.list(nil)) }

// list writes what is before Seen.
func (l *OrderList) list(dst []byte) []byte {
	dst = append(dst, `{"orders":[`...)
	for i := range l.Orders {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(l.Orders[i].members(append(dst, '{')), '}')
	}
	return append(appendWord(append(dst, `],"cursor":`...), l.Cursor), ',')
}

// Append writes o as JSON behind dst.
func (o *OrderRead) Append(dst []byte) []byte {
	dst = o.Order.members(append(slices.Grow(dst, 64+orderBytes), '{'))
	return append(o.Seen.members(append(dst, ',')), '}')
}

// orderBytes is about what an order takes.
const orderBytes = 480

func (o *Order) members(dst []byte) []byte {
	dst = append(dst, `"order_id":`...)
	if o.OrderID == nil {
		dst = append(dst, `null`...)
	} else {
		dst = appendU64(dst, *o.OrderID)
	}
	dst = appendU64(append(dst, `,"client_order_id":`...), o.ClientOrderID)
	dst = appendInt(append(dst, `,"market_id":`...), o.MarketID)
	dst = appendInt(append(dst, `,"generation":`...), o.Generation)
	dst = appendWord(append(dst, `,"side":`...), o.Side)
	dst = appendWord(append(dst, `,"outcome":`...), o.Outcome)
	dst = appendWord(append(dst, `,"type":`...), o.Type)
	dst = appendInt(append(dst, `,"tick":`...), o.Tick)
	dst = appendInt(append(dst, `,"qty":`...), o.Qty)
	dst = appendWord(append(dst, `,"tif":`...), o.TIF)
	dst = appendU64(append(dst, `,"expiry_ts":`...), o.ExpiryTs)
	dst = appendU64(append(dst, `,"max_cost":`...), o.MaxCost)
	dst = appendInt(append(dst, `,"group_id":`...), o.GroupID)
	dst = appendInt(append(dst, `,"flags":`...), o.Flags)
	dst = appendWord(append(dst, `,"status":`...), o.Status)
	dst = appendWord(append(dst, `,"reason":`...), o.Reason)
	dst = appendInt(append(dst, `,"filled_qty":`...), o.FilledQty)
	dst = appendInt(append(dst, `,"remaining_qty":`...), o.RemainingQty)
	dst = appendU64(append(dst, `,"created_seq":`...), o.CreatedSeq)
	dst = appendU64(append(dst, `,"created_ts":`...), o.CreatedTs)
	return appendU64(append(dst, `,"last_update_seq":`...), o.LastUpdateSeq)
}

// Append writes b as JSON behind dst.
func (b *Orderbook) Append(dst []byte) []byte {
	if b.text != nil {
		dst = append(dst, b.text...)
	} else {
		dst = b.book(dst)
	}
	return append(b.Seen.members(dst), '}')
}

// Write writes b once and for all: whatever Append is called for later differs in Seen
// alone. The rest must stay as it is.
func (b *Orderbook) Write() { b.text = slices.Clip(b.book(nil)) }

// book writes what is before Seen.
func (b *Orderbook) book(dst []byte) []byte {
	dst = slices.Grow(dst, 320+24*(len(b.Yes)+len(b.No)))
	dst = appendInt(append(dst, `{"market_id":`...), b.MarketID)
	dst = appendInt(append(dst, `,"generation":`...), b.Generation)
	dst = appendWord(append(dst, `,"tick_size":{"name":`...), b.TickSize.Name)
	dst = append(dst, `,"bands":[`...)
	for i, x := range b.TickSize.Bands {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendInt(append(dst, `{"from":`...), x.From)
		dst = appendInt(append(dst, `,"to":`...), x.To)
		dst = append(appendInt(append(dst, `,"step":`...), x.Step), '}')
	}
	dst = appendLevels(append(dst, `]},"yes":`...), b.Yes)
	return append(appendLevels(append(dst, `,"no":`...), b.No), ',')
}

func appendLevels(dst []byte, levels []Level) []byte {
	dst = append(dst, '[')
	for i, l := range levels {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendInt(append(appendInt(append(dst, '['), l[0]), ','), l[1]), ']')
	}
	return append(dst, ']')
}

func (s Seen) members(dst []byte) []byte {
	return appendU64(append(dst, `"as_of_seq":`...), s.AsOfSeq)
}

func appendInt[N ~int64 | ~uint32 | ~uint8](dst []byte, n N) []byte {
	return strconv.AppendInt(dst, int64(n), 10)
}

func appendU64(dst []byte, u U64) []byte {
	return append(strconv.AppendUint(append(dst, '"'), uint64(u), 10), '"')
}

func appendWord(dst []byte, w string) []byte { return append(append(append(dst, '"'), w...), '"') }
