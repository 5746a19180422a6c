package hub_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle/fleet/agent"
	"fettle/fleet/hub"
	"fettle/fleet/hub/message"
	"fettle/fleet/hub/store"
)

// taking is a fettle that installs the packs in which it finds the word good.
const taking = `#!/bin/sh
cd "$(dirname "$0")" || exit 3
if [ "$1 $2" = "pack install" ]; then
	grep -q good "$3" || { echo "fettle: $3: signed by a key that is not pinned on this host" >&2; exit 3; }
	echo 2 > packs/acme.highest
	echo "installed pack acme 2, signed by ops"
	exit
fi
echo '{"format":"fettle-report","schema":1,"meta":{"host":"x","kind":"live"},"results":[{"trap":"t","outcomes":[{"trap":"t","status":"clear"}]}]}'
`

// TestPacks: a pack goes from the hub over the canaries to the other hosts that let it; what a
// host refuses stops it.
func TestPacks(t *testing.T) {
	w := newWorld(t)
	w.start()
	known, db := w.open()
	hosts := map[string]*host{}
	for name, group := range map[string]string{"canary": "test", "web": "web", "closed": "test"} {
		h := w.join(name, w.invited(known, db, hub.Inviting{Group: group}))
		if h.fettle = taking; name != "closed" {
			h.packs = filepath.Join(h.dir, "packs")
			if err := os.Mkdir(h.packs, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		h.run(300 * time.Millisecond)
		hosts[name] = h
	}
	offer := func(version int, file string) {
		t.Helper()
		b, err := message.NewPack("acme", version, []byte(file)).Pack()
		if err == nil {
			err = db.Offer(t.Context(), store.Pack{Name: "acme", Version: version, Canary: "test", StopAt: 20, File: b})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(hosts[name].dir, "packs", "acme.highest"))
		return err == nil
	}
	stage := func(judge bool) store.Pack {
		t.Helper()
		if judge {
			if _, err := db.Judge(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		l, err := db.Packs(t.Context())
		if err != nil || len(l) != 1 {
			t.Fatalf("%+v, %v", l, err)
		}
		return l[0]
	}
	offer(2, "good")
	w.until("the canary has it", func() bool { return stage(false).Taken == 1 })
	if has("web") || !has("canary") || !hosts["canary"].said("handed on by the hub: installed pack acme 2") {
		t.Error("not the canary alone has it")
	}
	w.until("the others get it", func() bool { return stage(true).Taken == 2 })
	if !has("web") || has("closed") || stage(false).Stage != store.All {
		t.Errorf("%+v", stage(false))
	}
	offer(3, "from somebody else")
	w.until("it is stopped", func() bool { return stage(true).Stage == store.Stopped })
	if p := stage(false); !strings.Contains(p.Why, "1 refused it") || p.Sent != 1 {
		t.Errorf("%+v", p)
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "*", "offered.pack")); len(left) > 0 {
		t.Error("left behind:", left)
	}
}

// TestPackByHand: root on a host asks for what the hub offers, with an agent beside that takes no packs, or before the
// host's turn; the agent goes on as if nothing was asked.
func TestPackByHand(t *testing.T) {
	w := newWorld(t)
	w.start()
	known, db := w.open()
	closed := w.join("closed", w.invited(known, db, hub.Inviting{}))
	closed.run(300 * time.Millisecond)
	open := w.join("open", w.invited(known, db, hub.Inviting{}))
	open.fettle, open.packs = taking, filepath.Join(open.dir, "packs")
	if err := os.Mkdir(open.packs, 0o700); err != nil {
		t.Fatal(err)
	}
	open.run(300 * time.Millisecond)
	fetch := func(h *host, name, want, refused string) {
		t.Helper()
		b, err := agent.Fetch(t.Context(), h.dir, name)
		if refused == "" && (err != nil || string(b) != want) || refused != "" && (err == nil || !strings.Contains(err.Error(), refused)) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	fetch(closed, "acme", "", "the hub offers no pack acme; it offers: none")
	b, err := message.NewPack("acme", 2, []byte("a good one")).Pack()
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Offer(t.Context(), store.Pack{Name: "acme", Version: 2, Canary: "nobody", StopAt: 20, File: b}); err != nil {
		t.Fatal(err)
	}
	for _, h := range []*host{closed, open} {
		before := h.checks()
		fetch(h, "acme", "a good one", "")
		w.until("the agent goes on", func() bool { return h == open || h.checks() > before+2 })
	}
	fetch(closed, "zeta", "", "the hub offers no pack zeta; it offers: acme")
	if _, err := os.Stat(filepath.Join(open.packs, "acme.highest")); err == nil || open.said("") && open.said("handed on") {
		t.Error("the agent that runs installed what was only asked for")
	}
	w.complete(db, closed)
	if err := db.StopPack(t.Context(), "acme", "of 3 hosts, 2 find more"); err != nil {
		t.Fatal(err)
	}
	fetch(closed, "acme", "", "pack acme 2 was stopped on the hub: of 3 hosts, 2 find more")
	if p, err := db.Packs(t.Context()); err != nil || p[0].Sent != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}
