package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

// TestCaptures: the newest of a host are kept, for as long as its history is; they go with
// the host.
func TestCaptures(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		join(t, db, "h1", "web")
		join(t, db, "h2", "web")
		list := func(agent string) (out []store.Capture) {
			t.Helper()
			h, err := db.HostByAgent(t.Context(), agent)
			if err != nil {
				t.Fatal(err)
			}
			if out, err = db.Captures(t.Context(), h.ID); err != nil {
				t.Fatal(err)
			}
			return out
		}
		attach := func(agent string, n int) error {
			content := fmt.Appendf(nil, "\x00\xffcapture %d of %s", n, agent)
			return db.Attach(
				t.Context(),
				agent,
				store.Capture{
					At:     began.Add(time.Duration(n) * time.Hour),
					Who:    "ann",
					Taken:  began,
					Fettle: "1",
					Size:   int64(len(content)),
					SHA256: "x",
				},
				content,
				store.Audit{At: began, Who: "ann", What: "attach", On: agent},
			)
		}
		for n := range store.CapturesKept + 3 {
			if err := attach("h1", n); err != nil {
				t.Fatal(err)
			}
		}
		if err := attach("h2", 1); err != nil {
			t.Fatal(err)
		}
		if err := attach("nobody", 1); !errors.Is(err, store.ErrNone) {
			t.Errorf("to no host: %v", err)
		}
		is := list("h1")
		if len(is) != store.CapturesKept || !is[0].At.Equal(began.Add(12*time.Hour)) || !is[9].At.Equal(began.Add(3*time.Hour)) ||
			is[0].Who != "ann" ||
			!is[0].Taken.Equal(began) ||
			is[0].Size == 0 {
			t.Errorf("%d: %+v", len(is), is)
		}
		c, content, agent, err := db.CaptureContent(t.Context(), is[0].ID, store.Audit{At: began, Who: "bob", What: "download"})
		if err != nil || agent != "h1" || string(content) != "\x00\xffcapture 12 of h1" || c != is[0] {
			t.Errorf("%+v %q %s %v", c, content, agent, err)
		}
		if _, _, _, err := db.CaptureContent(t.Context(), 1<<40, store.Audit{At: began, Who: "bob", What: "download"}); !errors.Is(
			err,
			store.ErrNone,
		) {
			t.Errorf("one that is not there: %v", err)
		}
		if err := db.Detach(t.Context(), is[0].ID, store.Audit{At: began, Who: "ann", What: "remove"}); err != nil {
			t.Fatal(err)
		}
		if err := db.Detach(t.Context(), is[0].ID, store.Audit{At: began, Who: "ann", What: "remove"}); !errors.Is(err, store.ErrNone) {
			t.Errorf("removed twice: %v", err)
		}
		acts, err := db.Audits(t.Context(), 0, 0, 2)
		if err != nil || acts[0].What != "remove" || acts[0].On != "h1" || acts[1].What != "download" || acts[1].Who != "bob" ||
			acts[1].On != "h1" {
			t.Errorf("%+v %v", acts, err)
		}
		if _, err := db.Prune(t.Context(), began.Add(6*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if n := len(list("h1")); n != 6 {
			t.Errorf("%d are younger than what is kept, want 6", n)
		}
		h, _ := db.HostByAgent(t.Context(), "h1")
		if err := db.Retire(t.Context(), h.ID); err != nil {
			t.Fatal(err)
		}
		if n := len(list("h1")); n != 0 {
			t.Errorf("a host that was taken out has %d", n)
		}
		if err := attach("h1", 1); !errors.Is(err, store.ErrNone) {
			t.Errorf("to a host that was taken out: %v", err)
		}
	})
}
