package web

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"fettle/fleet/hub/store/storetest"
	"fettle/fleet/hub/synthetic"
)

// BenchmarkPages loads each page, over a fleet with a year of changes. It has
// 2,000 hosts, or FETTLE_HOSTS; FETTLE_HUB_DB names a file that keeps it for
// the next run.
func BenchmarkPages(b *testing.B) {
	hosts := 2000
	if n, err := strconv.Atoi(os.Getenv("FETTLE_HOSTS")); err == nil {
		hosts = n
	}
	file := os.Getenv("FETTLE_HUB_DB")
	if file == "" {
		file = filepath.Join(b.TempDir(), "hub.db")
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	if _, err := os.Stat(file); err != nil {
		storetest.Large{Fleet: synthetic.Fleet{Seed: 5, Hosts: hosts, PerHost: 8, Start: now}, Days: 365, Changes: 40, Now: now}.Fill(b, file)
	}
	w := over(b, storetest.Open(b, file), now)
	w.login("ann")
	for _, path := range append(w.pages(), "/api/v1/curves?days=365", "/feed/changes.atom", "/hosts?q=00777", "/changes?since=365d&grou"+
		"p=ams-web&severity=critical",
		"/changes?since=365d&kind=returned&severit"+
			"y=critical&trap=bridge-mtu&group=waw-store", "/hosts?offset=1900&order=name", "/trap/units-failed?group=waw-store&severity=notice") {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				if code, body, _ := w.get(path); code != http.StatusOK {
					b.Fatalf("%s: %d %.200s", path, code, body)
				}
			}
		})
	}
}
