package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/host"
)

// Two traps that say what a file tells them to, for command tests of what is
// shown and accepted: the program fettle-sham is fettle with these traps. With
// --root the file is /sham.json there; of the live host it is ShamFile.

// ShamFile lies beside the test program: a confined child has no environment
// to be told it in.
func ShamFile() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return filepath.Join(filepath.Dir(exe), "sham.json")
}

func shamTrap(id, title, symptom string, fixable bool) *trap.Trap {
	t := &trap.Trap{
		Lore: trap.Lore("---\nid: " + id + "\ntitle: " + title + "\nsymptoms:\n  - \"" + symptom + "\"\nmessages:\n  - text: \"" +
			symptom + "\"\n    says: kernel\n    since: \"the first test\"\ntags: [sham]\nsince: the first test\n" +
			"refs:\n  - https://example.org/" + id + "\n---\n# What happens\n\nA **test** happens; see `sham.json`.\n\n- one\n- two\n"),
	}
	t.Check = func(ctx context.Context, h *host.Host, r *trap.Report) error {
		file := "/sham.json"
		if h.Running() {
			file = ShamFile()
		}
		b, err := h.ReadFile(ctx, file)
		if err != nil {
			return err
		}
		var said map[string][]trap.Outcome
		if err := json.Unmarshal(b, &said); err != nil {
			return err
		}
		for _, o := range said[id] {
			switch o.Status {
			case trap.Found:
				r.Found(o)
			case trap.Clear:
				r.Clear(o.Subject, o.Summary, o.Evidence...)
			case trap.NotApplicable:
				r.NotApplicable(o.Subject, o.Reason, o.Evidence...)
			}
		}
		return nil
	}
	if fixable {
		t.Plan = func(context.Context, *host.Host, trap.Finding) (remedy.Plan, error) { return remedy.Plan{}, nil }
	}
	return t
}

// ShamTraps are the traps of fettle-sham.
func ShamTraps() []*trap.Trap {
	return []*trap.Trap{
		shamTrap("sham-one", "The first sham trap", "frobnicator <n> on <disk> lost its quux", true),
		shamTrap(
			"sham-two",
			"The second sham trap, whose title is so long that it has to go on in a second line of the list",
			"wibble underrun",
			false,
		),
	}
}
