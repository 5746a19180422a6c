package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// TestOutsiderInTheAuditLog: an outsider's attempts are one row, and what users did stays
// where it was.
func TestOutsiderInTheAuditLog(t *testing.T) { storetest.Each(t, outsiderInTheAuditLog) }

func outsiderInTheAuditLog(t *testing.T, db *store.DB) {
	w := over(t, db, time.Now())
	w.login("ann")
	eve := stranger(w)
	for i := range 120 {
		name := fmt.Sprintf("root\naccept %d", i)
		if code, _, _ := eve.send("/login", "/login", url.Values{"name": {name}, "password": {"x"}}); code != http.StatusUnauthorized &&
			code != http.StatusTooManyRequests {
			t.Fatal(code)
		}
	}
	time.Sleep(2500 * time.Millisecond)
	if acts, err := db.Audits(t.Context(), 0, 1000); err != nil || len(acts) != 1 {
		t.Errorf("%d acts, %v", len(acts), err)
	}
	list, _, err := db.Attempts(t.Context(), 0, 10)
	if err != nil || len(list) != 2 || list[0].Count+list[1].Count != 120 {
		t.Errorf("%+v, %v", list, err)
	}
	if code, body, _ := w.get("/attempts"); code != http.StatusOK || !strings.Contains(body, `root\naccept `) {
		t.Errorf("%d %s", code, body)
	}
	if code, _, _ := eve.get("/attempts"); code != http.StatusSeeOther {
		t.Error(code)
	}
}
