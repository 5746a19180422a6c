package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"fettle/fleet/hub/message"
	"fettle/internal/folded"
)

// TestPacks: what the hub hands on is for fettle to judge. What it refuses is reported, and
// no word of the hub's goes into a path or a command.
func TestPacks(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "fettle")
	text := "#!/bin/sh\necho \"$@\" >> " + dir + "/calls\necho \"fettle: $3: signed by a key that is not pinned\" >&2\nexit 3\n"
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.highest"), []byte("7\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	var said []string
	log := func(s string) { said = append(said, s) }
	a := &Agent{Config: Config{Dir: dir, Fettle: program, Log: log}, hub: folded.Log{To: log}, packs: make(chan *message.Pack, 1)}
	hand := func(name string) {
		t.Helper()
		b, err := message.NewPack(name, 4, []byte("a pack")).Pack()
		if err != nil {
			t.Fatal(err)
		}
		a.hear(&nats.Msg{Subject: message.To("a", "pack"), Data: b})
	}
	if hand("acme"); len(a.packs) > 0 || a.hasPacks() != nil {
		t.Error("a pack was taken though root did not say so")
	}
	a.Packs = dir
	for _, evil := range []string{"../../etc/cron.d/x", "a b", "-rf", ""} {
		hand(evil)
	}
	if len(a.packs) > 0 {
		t.Error("a pack with the name of a path")
	}
	asked := message.NewPack("acme", 4, []byte("a pack"))
	asked.Asked = "somebody"
	if b, err := asked.Pack(); err != nil {
		t.Fatal(err)
	} else if a.hear(&nats.Msg{Subject: message.To("a", "pack"), Data: b}); len(a.packs) > 0 {
		t.Error("the agent takes what somebody asked for by hand")
	}
	hand("acme")
	hand("acme") // it comes again
	if len(a.packs) != 1 {
		t.Fatalf("%d packs", len(a.packs))
	}
	a.takePack(t.Context(), <-a.packs)
	calls, _ := os.ReadFile(dir + "/calls")
	if string(calls) != "pack install "+dir+"/offered.pack\n" {
		t.Errorf("%q", calls)
	}
	has := a.hasPacks()
	if len(has) != 2 || has[1] != (message.HasPack{Name: "acme", Version: 4, Refused: "signed by a key that is not pinned"}) ||
		has[0] != (message.HasPack{Name: "other", Version: 7}) {
		t.Errorf("%+v", has)
	}
	a.refusals["acme"] = declined{HasPack: has[1], at: uptime() - 2*refusedFor}
	if has = a.hasPacks(); len(has) != 1 {
		t.Errorf("refused for ever: %+v", has)
	}
	if _, err := os.Stat(filepath.Join(dir, offeredFile)); err == nil {
		t.Error("the pack is left behind")
	}
	if len(said) != 2 || !strings.Contains(said[1], "acme 4, which is not installed: signed by a key that is not pinned") {
		t.Errorf("%q", said)
	}
}
