package schemas

import "strconv"

// The two answers that are written most have encoders by hand. They write what
// Append writes, byte for byte; their words need no escaping, being ours.

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

func appendU64(dst []byte, u U64) []byte {
	return append(strconv.AppendUint(append(dst, '"'), uint64(u), 10), '"')
}

func appendWord(dst []byte, w string) []byte { return append(append(append(dst, '"'), w...), '"') }
