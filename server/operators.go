package server

import (
	"errors"
	"fmt"
	"slices"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// revokeLostOperators revokes every admin if Options.OperatorsLost is set.
func (v *Venue) revokeLostOperators() error {
	if !v.options.OperatorsLost {
		return nil
	}
	var named []core.Operator
	v.engine.Read(func(s *venue.Venue, _ *view.View) { named = s.Operators() })
	for i := range named {
		if named[i].Role != core.RoleAdmin {
			continue
		}
		by := core.Audit{Who: ownAudit.Who, Why: "--operators-lost"}
		var requested []uint64
		v.engine.Read(func(s *venue.Venue, _ *view.View) {
			for a := range s.PendingApprovals(s.Now().Ts) {
				if a.By == named[i].Name {
					requested = append(requested, a.ID)
				}
			}
		})
		for _, id := range requested { // so that the audit has a row for each
			if err := v.submitOwn(&core.DropApproval{Approval: id, Audit: by}); err != nil && !errors.Is(err, core.UnknownApproval) && !errors.Is(err, core.InvalidTransition) {
				return err
			}
		}
		if err := v.submitOwn(&core.RevokeOperator{Name: named[i].Name, Audit: by}); err != nil {
			return err
		}
		v.options.Log.Warn("the operator is revoked, because --operators-lost is set", "operator", named[i].Name)
	}
	return nil
}

// requireNamedAdmin returns an error if other machines can reach the operator's listener and no named
// operator could use all of it.
func (v *Venue) requireNamedAdmin() error {
	if !v.options.adminIsPublic() {
		return nil
	}
	var named bool
	v.engine.Read(func(s *venue.Venue, _ *view.View) {
		named = slices.ContainsFunc(s.Operators(), func(o core.Operator) bool { return o.Role == core.RoleAdmin })
	})
	if named {
		return nil
	}
	return &OptionError{"Admin", fmt.Errorf("%s can be reached from other machines, which requires a named operator: start with the listener on 127.0.0.1 and run dx admin operator add NAME --role admin", v.options.adminAddress())}
}
