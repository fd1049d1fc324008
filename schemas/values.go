package schemas

import (
	"fmt"
	"slices"

	"duplex/core"
)

// A member whose values are a list of the program says which in its tag `values`, by the name that the
// list has in the documents. A new reason or code then changes no tag. New values may be added at any
// time, so that a client must accept an unknown one (docs/rules/rest.md#changes).

// ValueList is a named list of the values of a string.
type ValueList struct {
	Doc  string
	List []string
}

// valueLists has the lists by name.
var valueLists = map[string]ValueList{
	"CancelReason": {"Why an order was canceled", core.Reasons()},
	"OrderReason":  {"Why an order was canceled or rejected; empty otherwise", slices.Concat([]string{""}, core.Reasons(), orderRejects())},
	"BalanceCause": {"Why cash or reservations moved", core.Causes()},
	"ErrorCode":    {"What is wrong; /errors explains each code", Codes()},
}

// orderRejects lists the codes of the registry, which are those that an order can be rejected with.
func orderRejects() (codes []string) {
	all := slices.Sorted(slices.Values(core.Rejects()))
	for _, r := range all {
		if r.Registered() {
			codes = append(codes, r.String())
		}
	}
	return codes
}

// ValuesNamed returns the list of a name that Member.Values has.
func ValuesNamed(name string) ValueList { return valueLists[name] }

// fillValues gives m the values of its list. It panics on a list that does not exist.
func (m *Member) fillValues() {
	name := m.tag.Get("values")
	if name == "" {
		return
	}
	list, ok := valueLists[name]
	if !ok {
		panic(fmt.Sprintf("schemas: %s: there are no values %q", m.Name, name))
	}
	m.Values, m.Enum = name, list.List
}
