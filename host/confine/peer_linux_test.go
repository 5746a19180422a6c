package confine

import (
	"context"
	"errors"
	"testing"

	"fettle/host"
)

// told answers every table.
type told struct{ host.Source }

func (told) Table(context.Context, host.Table) ([]byte, error) { return []byte("{}"), nil }

// A child makes its parent talk to other hosts only where a run may.
func TestOtherHostsAreAskedOnlyWhereAllowed(t *testing.T) {
	q := []byte(`{"table":"peer tls ldaps://ldap.example.com:636"}`)
	for _, network := range []bool{false, true} {
		c := &Child{job: Job{Host: told{}, Network: network}}
		_, err := c.look(t.Context(), q)
		if network && err != nil || !network && !errors.Is(err, host.ErrDenied) {
			t.Errorf("network %t: %v", network, err)
		}
	}
}
