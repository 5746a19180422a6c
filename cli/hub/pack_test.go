package hub

import (
	"strings"
	"testing"

	"fettle/fleet/hub/store/storetest"
)

// A group of canaries in which nobody is would keep a pack for ever.
func TestSomeIn(t *testing.T) {
	db := storetest.SQLite(t)
	reported(t, db, "web1", "web")
	if err := someIn(t.Context(), db, "web"); err != nil {
		t.Error(err)
	}
	if err := someIn(t.Context(), db, "wbe"); err == nil || !strings.Contains(err.Error(), `no host is in the group "wbe"`) {
		t.Errorf("%v", err)
	}
}
