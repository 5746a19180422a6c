package confine

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"fettle/host"
)

// told answers every table.
type told struct{ host.Source }

func (told) Table(context.Context, host.Table) ([]byte, error) { return []byte("{}"), nil }

// A child makes its parent talk to other hosts only where a run may, and only
// to those that it grants.
func TestOtherHostsAreAskedOnlyWhereGranted(t *testing.T) {
	named := func(_ context.Context, t host.Table) bool {
		q, ok := t.Peer()
		return ok && q.URI == "ldaps://ldap.example.com:636"
	}
	for _, tt := range []struct {
		grants func(context.Context, host.Table) bool
		uri    string
		works  bool
	}{
		{named, "ldaps://ldap.example.com:636", true},
		{nil, "ldaps://ldap.example.com:636", false},
		{named, "ldaps://ldap.example.com:637", false},
		{named, "ldaps://evil.example.com:636", false},
		{named, "", false},
	} {
		c := &Child{job: Job{Host: told{}, Grants: tt.grants}}
		_, err := c.look(t.Context(), fmt.Appendf(nil, `{"table":"peer tls %s"}`, tt.uri))
		if tt.works && err != nil || !tt.works && !errors.Is(err, host.ErrDenied) {
			t.Errorf("%q: %v", tt.uri, err)
		}
	}
}
