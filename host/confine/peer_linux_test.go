package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"fettle/host"
)

// told answers every table, and has one file.
type told struct{ host.Source }

func (told) Table(context.Context, host.Table) ([]byte, error) { return []byte("{}"), nil }

func (told) ReadFile(_ context.Context, name string, _ int64) ([]byte, error) {
	if name == "/etc/ldap/ldap.conf" {
		return []byte("URI ldaps://ldap.example.com\n"), nil
	}
	return nil, fs.ErrNotExist
}

func (told) ReadDir(context.Context, string) ([]host.Entry, error) { return nil, fs.ErrNotExist }

// A child makes its parent talk to other hosts only where a run may, and only
// to those that the configuration names.
func TestOtherHostsAreAskedOnlyWhereAllowed(t *testing.T) {
	for _, tt := range []struct {
		network bool
		uri     string
		works   bool
	}{
		{true, "ldaps://ldap.example.com:636", true},
		{false, "ldaps://ldap.example.com:636", false},
		{true, "ldaps://ldap.example.com:637", false},
		{true, "ldaps://evil.example.com:636", false},
		{true, "", false},
	} {
		c := &Child{job: Job{Host: told{}, Network: tt.network}}
		_, err := c.look(t.Context(), fmt.Appendf(nil, `{"table":"peer tls %s"}`, tt.uri))
		if tt.works && err != nil || !tt.works && !errors.Is(err, host.ErrDenied) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
