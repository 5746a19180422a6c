package snapshot

import (
	"testing"

	"fettle/host"
	"fettle/host/hosttest"
)

// TestLimitsTaken: a service's limits are those of its main process.
func TestLimitsTaken(t *testing.T) {
	src, _ := hosttest.Load(t, "../../traps/limitsbyhand/testdata/healthy.txtar")
	u := Take(t.Context(), host.New(src)).Units["redis-server.service"]
	if u.Active != "active" || u.Limits["LimitNOFILE"] != 65535 {
		t.Errorf("%+v", u)
	}
}
