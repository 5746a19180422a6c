package explain

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"fettle/cli/app"
	"fettle/cli/app/apptest"
	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/report"
)

const front = "symptoms:\n  - \"it is slow\"\nmessages:\n  - text: \"lost <n> quux\"\n    says: kernel\n    since: \"6.1\"\n" +
	"since: Linux 6.1 \x1b[31m\nrefs:\n  - https://example.org/a\n  - https://example.org/b\n"

// article is a trap with that text.
func article(id, more, body string, plan bool) *trap.Trap {
	t := apptest.Says(id, more)
	t.Lore = trap.Lore(strings.Replace(string(t.Lore), "# "+id+"\n", body, 1))
	if plan {
		t.Plan = func(context.Context, *host.Host, trap.Finding) (remedy.Plan, error) { return remedy.Plan{}, nil }
	}
	return t
}

var long = strings.Repeat("Word after word. ", 8)

const whole = `# What happens

It happens:

- one
- two

More of it.

# How bad

` + "```" + `
# not a heading
` + "```" + `

Bad.

# What fettle does

It looks.

The remedy writes a file.

Then it stops.

# What to do

Wait.

# Else

Nothing.
`

var all = []*trap.Trap{
	article("whole", front, whole, true), article("unfixed", front, whole, false),
	article("long", "", "# What happens\n\n"+long+"\n\nThis is too much.\n\n# How bad it is\n\nShort.\n\n| a | b |\n|---|---|\n| 1 | 2 "+
		"|\n", false),
	article("hand", "", "Before any heading.\n\n# By hand\n\n"+strings.TrimSpace(long)+" Namely:\n\n- this\n\nNot this.\n", true),
	article("table", "", "# What happens\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", false),
	choices(article("choices", "", "# How to mend it\n\nChoose.\n", true)), cost(article("sampled", "", "# What happens\n\nX.\n", false),
		trap.Sampled),
	cost(article("network", "horizon: [now, next-start]\n", "# What happens\n\nX.\n", false), trap.Network),
	article("next", "horizon: [next-start]\n", "# What happens\n\nX.\n", true),
	{Lore: "---\nid: broken\ntitle: No article\nnonsense: [\n---\n"},
}

func cost(t *trap.Trap, c trap.Cost) *trap.Trap { t.Cost = c; return t }
func choices(t *trap.Trap) *trap.Trap {
	t.Choices = []trap.Choice{{Name: "by", About: "how", Values: []string{"hand", "foot"}, Default: "hand"}, {Name: "mtu", About: "the size"}}
	return t
}

func TestExplain(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	apptest.Session(t, "testdata/explain.txt", func(ctx context.Context, args []string) (int, string, string) {
		cmd := Cmd
		if args[0] == "list" {
			cmd = ListCmd
		}
		return apptest.Run(ctx, app.App{Traps: all}, cmd, args...)
	})
	if code, out, errs := apptest.Run(t.Context(), app.App{Traps: all}, Cmd, "explain", "whole", "--format", "md"); code != 0 || errs != "" ||
		out != string(all[0].Lore) {
		t.Errorf("as it was written: status %d, said %q and %q", code, out, errs)
	}
	var d document
	code, out, errs := apptest.Run(t.Context(), app.App{Traps: all}, Cmd, "explain", "whole", "--format", "json")
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || errs != "" || d.Format != "fettle-article" || d.ID != "whole" ||
		!d.Fixable ||
		len(d.Symptoms) != 2 || len(d.Tags) != 1 || d.Since == "" || len(d.Refs) != 2 || d.Body != whole {
		t.Errorf("as JSON: status %d, %v, said %q and %q", code, err, out, errs)
	}
	var l traps
	code, out, errs = apptest.Run(t.Context(), app.App{Traps: all}, ListCmd, "list", "--format", "json")
	if err := json.Unmarshal([]byte(out), &l); err != nil || code != 0 || errs != "" || l.Format != "fettle-traps" ||
		len(l.Traps) != len(all) {
		t.Errorf("the list as JSON: status %d, %v, said %q and %q", code, err, out, errs)
	}
	if code, out, _ := apptest.Run(t.Context(), app.App{Traps: all}, Cmd, "__complete", "explain", "wh"); code != 0 ||
		!strings.HasPrefix(out, "whole") {
		t.Errorf("completed to %q", out)
	}
	if id := report.NotAsBefore.ID(); id != "not-as-before" {
		t.Errorf("what agents report after a restart is called %s", id)
	}
}
