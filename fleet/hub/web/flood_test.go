package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fettle/engine/trap"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
	"fettle/host"
	"fettle/internal/means"
	"fettle/report"
)

// TestPageBesideAFlood measures pages, logins and fettle-hub hosts while hosts send as
// much as a report may hold, one after the other, and prints their 99th percentile.
func TestPageBesideAFlood(t *testing.T) {
	means.Long(t, "floods a hub for a minute")
	t.Run("sqlite", func(t *testing.T) { besideAFlood(t, filepath.Join(t.TempDir(), "hub.db")) })
	t.Run("postgres", func(t *testing.T) { besideAFlood(t, storetest.Postgres(t)) })
}

func besideAFlood(t *testing.T, where string) {
	db := storetest.Open(t, where)
	w := over(t, db, time.Now())
	const hosts = 8
	for i := range hosts {
		name := fmt.Sprint("h", i)
		if err := db.AddToken(t.Context(), store.Token{Hash: name, Expires: time.Now().Add(time.Hour), Uses: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.JoinByToken(t.Context(), name, store.Joining{Agent: name, Host: name, Key: "U" + name}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	ended := make(chan int, 1)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			m := flood(fmt.Sprint("h", n%hosts), n)
			items := []store.Item{{Message: m, Key: "Uh" + fmt.Sprint(n%hosts), At: time.Now()}}
			if _, err := db.Ingest(context.WithoutCancel(ctx), items); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
		ended <- n
	}()
	took := map[string][]time.Duration{}
	measure := func(what string, do func() error) {
		t.Helper()
		began := time.Now()
		if err := do(); err != nil {
			t.Errorf("%s after %s: %v", what, time.Since(began), err)
		}
		took[what] = append(took[what], time.Since(began))
	}
	w.login("ann")
	for ctx.Err() == nil {
		for _, path := range []string{"/", "/traps", "/hosts", "/host/h1", "/changes"} {
			measure("page", func() error {
				code, _, _ := w.get(path)
				if code != http.StatusOK {
					return fmt.Errorf("%s: %d", path, code)
				}
				return nil
			})
		}
		measure("login", func() error {
			if code, _, _ := stranger(w).send("/login", "/login", url.Values{"name": {"bob"}, "password": {password}}); code != http.StatusSeeOther {
				return fmt.Errorf("%d", code)
			}
			return nil
		})
		measure("fettle-hub hosts", func() error {
			other, err := store.Open(t.Context(), where)
			if err != nil {
				return err
			}
			defer other.Close()
			_, err = other.HostsFrom(t.Context(), store.Everything, "", "", 1000)
			return err
		})
	}
	n := <-ended
	for what, all := range took {
		slices.Sort(all)
		p99 := all[len(all)*99/100]
		t.Logf("%s: %d times, median %s, p99 %s, longest %s", what, len(all), all[len(all)/2], p99, all[len(all)-1])
		if p99 > 5*time.Second {
			t.Errorf("%s waits %s", what, p99)
		}
	}
	var rows, folded int
	for i := range hosts {
		h, err := db.HostByAgent(t.Context(), fmt.Sprint("h", i))
		if err != nil {
			t.Fatal(err)
		}
		l, err := db.HostEvents(t.Context(), h.ID, 0, 1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		rows, folded = rows+len(l), folded+h.Folded
	}
	t.Logf("%d reports of %d findings by %d hosts: %d changes kept, %d folded", n, floodFindings, hosts, rows, folded)
}

const floodFindings = 2900

// flood is a report of which nothing was there before.
func flood(agent string, n int) *message.Message {
	r := trap.Result{Trap: "bridge-mtu"}
	for i := range floodFindings {
		r.Outcomes = append(r.Outcomes, trap.Outcome{Trap: r.Trap, Subject: fmt.Sprintf("%d of %d", i, n), Status: trap.Found,
			Severity: trap.Warning, Summary: "a finding that was made up for this purpose and is as long as such ones are"})
	}
	s := message.StateOf(report.NewDocument(report.Meta{Host: agent, Kind: host.KindLive, Started: time.Now()}, nil, []trap.Result{r}, 0))
	m := message.New(message.Whole)
	m.Agent, m.Instance, m.Seq, m.Digest, m.Sent = agent, "i", int64(n+1), s.Digest(), time.Now()
	m.Run = &message.Run{Meta: &s.Meta, Results: s.Results}
	return m
}
