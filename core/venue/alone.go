package venue

import (
	"fmt"
	"slices"
	"strings"

	"duplex/core"
)

// aloneSums are the sums of core.AloneSum on one UTC day, by aloneKey.
type aloneSums struct {
	day  int32
	sums tree[string, core.AloneSum]
}

// aloneKey sorts the sums of operators before those of accounts, each as it sorts them.
func aloneKey(s *core.AloneSum) string {
	key := "operator " + s.Operator
	if s.Operator == "" {
		key = fmt.Sprint("user ", s.User)
	}
	if s.Returned {
		key += " returned"
	}
	return key
}

// doAlone adds what an operator does to an account without a second one to the sums of both, and is
// SelfApproval if one of them would exceed the bound (docs/rules/operation.md#alone).
func (v *Venue) doAlone(bound core.AloneBound, who string, x core.AloneSum) core.Reject {
	if !bound.Set || v.rules.Revision < core.RevisionSteps {
		return core.OK
	}
	sums, exceeded := v.aloneWith(bound, who, x, v.now.Ts)
	if exceeded {
		return core.SelfApproval
	}
	if day := core.DayOf(v.now.Ts); v.alone.day != day {
		v.alone = aloneSums{day: day, sums: newTree[string, core.AloneSum]()}
	}
	for i := range sums {
		v.alone.sums.Set(aloneKey(&sums[i]), sums[i])
	}
	return core.OK
}

// aloneWith returns the sums of an operator and of an account with x, and whether one of them exceeds the bound
// on the day of ts.
func (v *Venue) aloneWith(bound core.AloneBound, who string, x core.AloneSum, ts int64) (sums [2]core.AloneSum, exceeded bool) {
	sums = [2]core.AloneSum{{Operator: who, Returned: x.Returned}, {User: x.User, Returned: x.Returned}}
	for i := range sums {
		was := v.AloneSum(sums[i], ts)
		exceeded = exceeded || x.Sum > bound.Most-was
		sums[i].Sum = was + x.Sum
	}
	return sums, exceeded
}

// ExceedsAlone reports whether what an operator would do to an account at ts (ns), without a second one, exceeds
// the bound of a sum (docs/rules/operation.md#alone).
func (v *Venue) ExceedsAlone(bound core.AloneBound, who string, x core.AloneSum, ts int64) bool {
	_, exceeded := v.aloneWith(bound, who, x, ts)
	return bound.Set && v.rules.Revision >= core.RevisionSteps && exceeded
}

// AloneSum returns the sum of an operator or an account on the UTC day of ts (ns), in pips.
func (v *Venue) AloneSum(of core.AloneSum, ts int64) core.Pips {
	if v.alone.day != core.DayOf(ts) {
		return 0
	}
	was, _ := v.alone.sums.Get(aloneKey(&of))
	return was.Sum
}

// AloneSums returns the sums of today, in no order.
func (v *Venue) AloneSums() (all []core.AloneSum) {
	if v.alone.day == core.DayOf(v.now.Ts) {
		v.alone.sums.Scan(func(_ string, s core.AloneSum) bool {
			all = append(all, s)
			return true
		})
	}
	return all
}

// changeSetting records a setting of the server. The slice of settings is replaced, never modified,
// because readers share it.
func (v *Venue) changeSetting(c *core.ChangeSetting) core.Reject {
	var was string
	if i, recorded := v.findSetting(c.Name); recorded {
		was = v.settings[i].Value
	}
	if v.rules.Revision < core.RevisionSteps || was != c.Before {
		return core.InvalidTransition
	}
	v.setSetting(core.Setting{Name: c.Name, Value: c.Value})
	return core.OK
}

func (v *Venue) setSetting(s core.Setting) {
	v.settings = slices.Clone(v.settings)
	if i, recorded := v.findSetting(s.Name); recorded {
		v.settings[i] = s
	} else {
		v.settings = slices.Insert(v.settings, i, s)
	}
	v.ev.Add(&core.SettingChanged{Setting: s})
}

// findSetting returns the index of a setting, or where it would be.
func (v *Venue) findSetting(name string) (i int, recorded bool) {
	return slices.BinarySearchFunc(v.settings, name, func(s core.Setting, name string) int { return strings.Compare(s.Name, name) })
}

// Settings returns the settings of the server that the state records, by name. The slice is shared and
// read-only.
func (v *Venue) Settings() []core.Setting { return v.settings }
