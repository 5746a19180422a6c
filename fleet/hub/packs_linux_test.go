package hub_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
