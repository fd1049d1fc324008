package schemas

import "bytes"

// flat reads JSON in its plainest form: strings of printable ASCII without escapes,
// integers without a sign, true and false. It is for what callers send thousands of
// times a second; whatever it does not take goes to the general decoder, which alone
// says what is wrong.
type flat struct {
	text []byte
	at   int
}

// rest is what follows the white space.
func (s *flat) rest() []byte {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\n' || s.text[s.at] == '\t' || s.text[s.at] == '\r') {
		s.at++
	}
	return s.text[s.at:]
}

func (s *flat) take(c byte) bool {
	if r := s.rest(); len(r) == 0 || r[0] != c {
		return false
	}
	s.at++
	return true
}

// str gives the inside of a string.
func (s *flat) str() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	r := s.text[s.at:]
	for i, c := range r {
		if c == '"' {
			s.at += i + 1
			return r[:i], true
		}
		if c < ' ' || c > '~' || c == '\\' {
			return nil, false
		}
	}
	return nil, false
}

// flatDigits is how many digits of an integer are taken: so many fit.
const flatDigits = 18

func (s *flat) integer(into *Int) bool {
	r := s.rest()
	n, v := 0, Int(0)
	for n < len(r) && r[n]-'0' <= 9 && n <= flatDigits {
		v = 10*v + Int(r[n]-'0')
		n++
	}
	s.at += n
	*into = v
	return n == 1 || n > 1 && n <= flatDigits && r[0] != '0'
}

func (s *flat) u64(into *U64) bool {
	text, ok := s.str()
	return ok && into.UnmarshalText(text) == nil
}

func (s *flat) word(into *string, words ...string) bool {
	text, ok := s.str()
	if !ok {
		return false
	}
	for _, w := range words {
		if string(text) == w {
			*into = w
			return true
		}
	}
	return false
}

func (s *flat) flag(into *bool) bool {
	switch r := s.rest(); {
	case bytes.HasPrefix(r, []byte("true")):
		s.at, *into = s.at+4, true
	case bytes.HasPrefix(r, []byte("false")):
		s.at, *into = s.at+5, false
	default:
		return false
	}
	return true
}

// object reads the members of one: `member` takes the value of a name, and gives the
// name's number, by which one that is there twice is known.
func (s *flat) object(member func(name []byte) (number int, ok bool)) bool {
	var seen uint32
	return s.list('{', '}', func() bool {
		name, ok := s.str()
		if !ok || !s.take(':') {
			return false
		}
		n, ok := member(name)
		twice := seen>>n&1 == 1
		seen |= 1 << n
		return ok && !twice
	})
}

// list reads what stands between two brackets, with commas between.
func (s *flat) list(open, end byte, each func() bool) bool {
	if !s.take(open) {
		return false
	}
	if s.take(end) {
		return true
	}
	for each() {
		if s.take(end) {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
	return false
}

// over tells that nothing follows.
func (s *flat) over() bool { return len(s.rest()) == 0 }

func (o *PlaceOrder) scan(body []byte) bool {
	s := flat{text: body}
	return o.read(&s) && s.over()
}

func (o *PlaceOrder) read(s *flat) bool {
	return s.object(func(name []byte) (int, bool) {
		switch string(name) {
		case "client_order_id":
			return 0, s.u64(&o.ClientOrderID)
		case "market_id":
			return 1, s.integer(&o.MarketID)
		case "side":
			return 2, s.word(&o.Side, "buy", "sell")
		case "outcome":
			return 3, s.word(&o.Outcome, "yes", "no")
		case "type":
			return 4, s.word(&o.Type, "limit", "market")
		case "tick":
			o.Tick = new(Int)
			return 5, s.integer(o.Tick)
		case "worst_tick":
			o.WorstTick = new(Int)
			return 6, s.integer(o.WorstTick)
		case "qty":
			return 7, s.integer(&o.Qty)
		case "tif":
			return 8, s.word(&o.TIF, "gtc", "gtt", "ioc", "fok")
		case "expiry_ts":
			o.ExpiryTs = new(U64)
			return 9, s.u64(o.ExpiryTs)
		case "max_cost":
			return 10, s.u64(&o.MaxCost)
		case "group_id":
			return 11, s.integer(&o.GroupID)
		case "post_only":
			return 12, s.flag(&o.PostOnly)
		case "reduce_only":
			return 13, s.flag(&o.ReduceOnly)
		case "cancel_on_pause":
			return 14, s.flag(&o.CancelOnPause)
		case "stp_maker":
			return 15, s.flag(&o.StpMaker)
		case "generation":
			return 16, s.integer(&o.Generation)
		default:
			return 0, false
		}
	})
}

func (o *PlaceOrders) scan(body []byte) bool {
	s := flat{text: body}
	return s.object(func(name []byte) (int, bool) {
		return 0, string(name) == "orders" && s.list('[', ']', func() bool {
			if len(o.Orders) == BatchCap {
				return false
			}
			o.Orders = append(o.Orders, PlaceOrder{})
			return o.Orders[len(o.Orders)-1].read(&s)
		})
	}) && s.over()
}

func (c *CancelOrders) scan(body []byte) bool {
	s := flat{text: body}
	return s.object(func(name []byte) (int, bool) {
		return 0, string(name) == "order_ids" && s.list('[', ']', func() bool {
			if len(c.OrderIDs) == BatchCap {
				return false
			}
			c.OrderIDs = append(c.OrderIDs, 0)
			return s.u64(&c.OrderIDs[len(c.OrderIDs)-1])
		})
	}) && s.over()
}
