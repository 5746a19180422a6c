package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fettle/fleet/hub/message"
	"fettle/internal/files"
)

// Packs that the hub hands on are installed by fettle itself, which trusts the keys that
// root pinned on this host and nobody else. The agent only takes them there.

// offeredFile is where a pack lies until fettle has looked at it.
const offeredFile = "offered.pack"

// A refusal is reported for a while; then the hub may hand the pack on again, because
// root may have pinned its key meanwhile.
const refusedFor = time.Hour

type declined struct {
	message.HasPack
	at time.Duration // uptime
}

// hasPacks are the packs that were installed here, and those that were refused.
func (a *Agent) hasPacks() (out []message.HasPack) {
	if a.Packs == "" {
		return nil
	}
	marks, _ := filepath.Glob(filepath.Join(a.Packs, "*.highest"))
	for _, mark := range marks {
		name := strings.TrimSuffix(filepath.Base(mark), ".highest")
		b, err := files.ReadAtMost(mark, 100)
		if err != nil {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && a.refusals[name].Version <= n {
			delete(a.refusals, name)
			out = append(out, message.HasPack{Name: name, Version: n})
		}
	}
	for name, r := range a.refusals {
		if uptime()-r.at > refusedFor {
			delete(a.refusals, name)
			continue
		}
		out = append(out, r.HasPack)
	}
	return message.FitPacks(out)
}

// takePack has fettle install a pack, and says whether it did.
func (a *Agent) takePack(ctx context.Context, p *message.Pack) bool {
	file := filepath.Join(a.Dir, offeredFile)
	defer os.Remove(file)
	if err := files.WriteFile(file, p.File, 0o600); err != nil {
		a.hub.Say("pack", "keeping a pack that the hub handed on: "+err.Error())
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := child(ctx, a.Fettle, "pack", "install", file)
	said := &head{}
	c.Stdout, c.Stderr = said, said
	err := c.Run()
	if ctx.Err() != nil {
		return false
	}
	what := strings.TrimSpace(said.String())
	if err != nil {
		why := strings.TrimPrefix(strings.TrimPrefix(what, "fettle: "), file+": ")
		if why == "" {
			why = err.Error()
		}
		if a.refusals == nil {
			a.refusals = map[string]declined{}
		}
		a.refusals[p.Name] = declined{message.HasPack{Name: p.Name, Version: p.Version, Refused: why}, uptime()}
		a.hub.Say("refused pack", fmt.Sprintf("the hub handed on pack %s %d, which is not installed: %s", p.Name, p.Version, why))
		return true
	}
	a.Log("handed on by the hub: " + what)
	return true
}
