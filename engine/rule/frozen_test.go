package rule

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
)

// TestThawWhole: a frozen rule is what it was, but for its lore.
func TestThawWhole(t *testing.T) {
	names, _ := filepath.Glob("../../traps/rules/*/rule.yaml")
	if len(names) < 50 {
		t.Fatal("where are the rules?")
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, ms := Parse(name, b, true)
		if len(ms) > 0 {
			t.Fatal(ms)
		}
		books, err := OpenBook(string(Book([]*Frozen{r.Freeze()})), true)
		if err != nil {
			t.Fatal(err)
		}
		if books[0].Lore != r.Lore() || books[0].ID != r.ID {
			t.Errorf("%s: another lore", name)
		}
		back, err := books[0].thaw(books[0].Body)
		if err != nil {
			t.Fatal(err)
		}
		if string(flatten(back)) != string(flatten(r)) || len(back.facts) != len(r.facts) {
			t.Errorf("%s: came back as another rule", name)
		}
		if len(r.Findings) == 0 || len(back.Findings) != len(r.Findings) || back.Findings[0].Severity != r.Findings[0].Severity {
			t.Errorf("%s: findings differ", name)
		}
	}
}

// TestGate: over every sample of every rule, the rule that is read in two parts says
// what the whole one says.
func TestGate(t *testing.T) {
	names, _ := filepath.Glob("../../traps/rules/*/rule.yaml")
	n := 0
	for _, name := range names {
		b, _ := os.ReadFile(name)
		r, ms := Parse(name, b, true)
		if r == nil {
			t.Fatal(ms)
		}
		samples, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*.txtar"))
		for _, s := range samples {
			b, err := os.ReadFile(s)
			if err != nil {
				t.Fatal(err)
			}
			say := func(tr *trap.Trap) (out []trap.Outcome) {
				src, _, err := hosttest.Parse(b)
				if err != nil {
					t.Fatal(err)
				}
				trap.Run(t.Context(), host.New(src), []*trap.Trap{tr}, trap.Options{}, func(res trap.Result) { out = res.Outcomes })
				return out
			}
			whole := say(&trap.Trap{Lore: r.Lore(), Check: r.Check})
			frozen := say(r.Trap())
			for i := range frozen {
				frozen[i].Fixable = false
			}
			if !reflect.DeepEqual(whole, frozen) {
				t.Errorf("%s:\nwhole  %+v\nfrozen %+v", s, whole, frozen)
			}
			n++
		}
	}
	if n < 300 {
		t.Errorf("only %d samples", n)
	}
}

// TestPrivilege: a book that is no part of the binary cannot run commands, whatever
// it says.
func TestPrivilege(t *testing.T) {
	b, err := os.ReadFile("../../traps/rules/time-not-synchronised/rule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, ms := Parse("x/rule.yaml", b, true)
	if r == nil {
		t.Fatal(ms)
	}
	r.Facts = append(r.Facts, Fact{Name: "c", Kind: "command", Args: []string{"dmesg"}})
	book := string(Book([]*Frozen{r.Freeze()}))
	for _, shipped := range []bool{true, false} {
		rules, err := OpenBook(book, shipped)
		if err != nil {
			t.Fatal(err)
		}
		_, err = rules[0].thaw(rules[0].Body)
		if refused := err != nil && strings.Contains(err.Error(), "only fettle's own"); refused == shipped {
			t.Errorf("shipped %v: %v", shipped, err)
		}
	}
}

// FuzzBook: a book that nobody wrote is refused, or holds rules that can be asked.
func FuzzBook(f *testing.F) {
	r, ms := Parse("r.yaml", []byte(sound), false)
	if r == nil {
		f.Fatal(ms)
	}
	f.Add(string(Book([]*Frozen{r.Freeze()})))
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f.Add("\x02\x01\x01")
	f.Fuzz(func(t *testing.T, s string) {
		rules, err := OpenBook(s, false)
		if err != nil {
			return
		}
		for _, r := range rules {
			if back, err := r.thaw(r.Body); err == nil && (back.Shipped || back.privileged()) {
				t.Error("it may run commands")
			}
		}
	})
}
