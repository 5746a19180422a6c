package api

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// Page by page, each act is shown once, and the last page says that it is.
func TestAuditPages(t *testing.T) {
	a := &API{Config: Config{DB: storetest.SQLite(t)}}
	var want []string
	for i := range 6 {
		on := fmt.Sprint("host", i)
		if err := a.DB.AddAudit(t.Context(), store.Audit{At: time.Unix(1e9+int64(i), 0), Who: "ann", What: "accept", On: on}); err != nil {
			t.Fatal(err)
		}
		want = append([]string{on}, want...)
	}
	var got []string
	q, pages := AuditQuery{Limit: 2}, 0
	for {
		l, err := a.Audit(As(t.Context(), Who{Sees: store.AllGroups}), q)
		if err != nil || l.Count != 6 || len(l.Acts) != 2 {
			t.Fatalf("%+v, %v", l, err)
		}
		for _, x := range l.Acts {
			got = append(got, x.On)
		}
		if pages++; l.Next == 0 || pages > 6 {
			break
		}
		q.Before = l.Next
	}
	if !slices.Equal(got, want) || pages != 3 {
		t.Errorf("%q on %d pages, want %q", got, pages, want)
	}
}
