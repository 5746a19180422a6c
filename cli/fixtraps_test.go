package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/remedy/step"
	"fettle/engine/trap"
	"fettle/host"
)

// Traps to mend in tests. They lie in the folder "demo" beside the test
// program, because a confined child has no environment to be told it in:
// demo/a.conf and demo/b.conf are trapped when they say "bad". A file of
// another name there changes the remedy: see demoPlan.

// FixTraps are the traps of the program fettle-fix.
func FixTraps() []*trap.Trap {
	lore := func(id string) trap.Lore { return trap.Lore("---\nid: " + id + "\ntitle: A trap to mend\n---\n") }
	return []*trap.Trap{
		{Lore: lore("demo"), Check: demoCheck, Plan: demoPlan},
		{Lore: lore("demo-by-hand"), Check: demoCheck},
		{Lore: lore("demo-refusing"), Check: demoCheck, Plan: func(context.Context, *host.Host, trap.Finding) (remedy.Plan, error) {
			return remedy.Plan{}, remedy.Refuse("demo is managed by Puppet; change it there")
		}},
		{Lore: lore("demo-refusing-a"), Check: demoCheck, Plan: func(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
			if f.Subject == "a" {
				return remedy.Plan{}, remedy.Refuse("a is managed by Puppet; change it there")
			}
			return demoPlan(ctx, h, f)
		}},
		{
			Lore:  lore("demo-hidden"),
			Check: func(_ context.Context, _ *host.Host, r *trap.Report) error { return host.ErrDenied },
			Plan:  demoPlan,
		},
		{Lore: lore("demo-clear"), Check: func(_ context.Context, _ *host.Host, r *trap.Report) error {
			r.Clear("a", "a is well")
			return nil
		}, Plan: demoPlan},
		{
			Lore: lore("demo-setup"), Plan: demoPlan, Choices: []trap.Choice{{Name: "to", About: "what for"}},
			Setup: &trap.Setup{Name: "demo-setup", Choice: "to", Finding: trap.Finding{Summary: "set a up"}},
			Check: func(_ context.Context, _ *host.Host, r *trap.Report) error {
				r.Clear("a", "a is well")
				return nil
			},
		},
	}
}

func demoDir() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return filepath.Join(filepath.Dir(exe), "demo")
}

func demoCheck(ctx context.Context, h *host.Host, r *trap.Report) error {
	for _, s := range []string{"a", "b"} {
		name := filepath.Join(demoDir(), s+".conf")
		b, err := h.ReadString(ctx, name)
		switch {
		case host.IsAbsent(err):
		case err != nil:
			r.Unknown(s, err)
		case strings.HasPrefix(b, "bad"):
			r.Found(trap.Finding{Subject: s, Severity: trap.Warning, Summary: s + " is bad", Evidence: []trap.Evidence{trap.Ev(name, "%s", b)}})
		default:
			r.Clear(s, s+" is good")
		}
	}
	r.Clear("", "looked")
	return nil
}

// demoPlan writes "good". The file demo/cuts makes it one that can cut the
// connection, demo/shared adds to a file of all findings, demo/slow adds a command that takes a minute, demo/useless
// writes what does not help, demo/for-ever adds a step that cannot be undone.
func demoPlan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	dir := demoDir()
	name := filepath.Join(dir, f.Subject+".conf")
	was, err := h.ReadFile(ctx, name)
	if err != nil {
		return remedy.Plan{}, err
	}
	has := func(n string) bool { ok, _ := h.Exists(ctx, filepath.Join(dir, n)); return ok }
	word := "good"
	if has("useless") {
		word = "bad still"
	}
	p := remedy.Plan{
		Title:          "make " + f.Subject + " good",
		Notes:          []string{"Nobody will notice."},
		CutsConnection: has("cuts"),
		Steps: []step.Step{
			step.File{Path: name, Was: was, Content: []byte(word + "\n")},
		},
	}
	if has("shared") {
		shared := filepath.Join(dir, "shared.conf")
		was, err := h.ReadFile(ctx, shared)
		if err != nil && !host.IsAbsent(err) {
			return remedy.Plan{}, err
		}
		p.Steps = append(p.Steps, step.File{Path: shared, Was: was, Content: []byte(strings.TrimSuffix(string(was), "\n") + f.Subject + "\n")})
	}
	if has("slow") {
		p.Steps = append(p.Steps, step.Command{Do: []string{"/usr/bin/sleep", "60"}, Undo: []string{"/usr/bin/true"}})
	}
	if has("for-ever") {
		p.Steps = append(p.Steps, step.Command{Do: []string{"/usr/bin/touch", filepath.Join(dir, "touched")}})
	}
	return p, nil
}
