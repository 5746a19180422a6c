package rule

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/means"
)

// TestCache: what is kept is used for the file that it was made of, and for no other.
func TestCache(t *testing.T) {
	means.Root(t)
	dir := t.TempDir()
	rules, kept := filepath.Join(dir, "traps.d"), filepath.Join(dir, "cache", "rules.book")
	if err := os.Mkdir(rules, 0o755); err != nil {
		t.Fatal(err)
	}
	text := func(i int, title string) string {
		return strings.Replace(strings.Replace(sound, "id: "+soundID(t), fmt.Sprintf("id: my-rule-%d", i), 1), "title: ", "title: "+title, 1)
	}
	for i := range cacheWorth {
		if err := os.WriteFile(filepath.Join(rules, fmt.Sprintf("r%d.yaml", i)), []byte(text(i, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	load := func() (c *Cache, titles string) {
		c = OpenCache(kept)
		got, refused := Load([]string{rules}, nil, c)
		c.Save()
		if len(refused) > 0 || len(got) != cacheWorth {
			t.Fatal(len(got), refused)
		}
		for _, r := range got {
			titles += r.Trap().Title() + "\n"
		}
		return c, titles
	}
	if c, _ := load(); !c.news || len(c.had) > 0 {
		t.Fatal("the first time nothing can be known")
	}
	c, before := load()
	if c.news || len(c.had) != cacheWorth {
		t.Fatalf("the second time everything is known: %d", len(c.had))
	}
	for _, file := range []string{"never-seen.yaml", filepath.Join(rules, "r1.yaml")} {
		if _, _, known := c.Find(file, ""); known {
			t.Errorf("%s has no stamp, and is known", file)
		}
	}
	if err := os.WriteFile(filepath.Join(rules, "r1.yaml"), []byte(text(1, "Changed. ")), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, after := load(); !c.news || after == before || strings.Count(after, "Changed.") != 1 {
		t.Errorf("a changed rule: %q", after)
	}
	if c, _ := load(); c.news || len(c.had) != cacheWorth {
		t.Errorf("of %d rules, one of them changed since, %d are known; others: %v", cacheWorth, len(c.had), c.news)
	}
	for name, spoil := range map[string]func() error{
		"writable to others": func() error { return os.Chmod(kept, 0o666) },
		"somebody else's":    func() error { return os.Chown(kept, 65534, 65534) },
		"garbage":            func() error { return os.WriteFile(kept, []byte("garbage"), 0o644) },
		"a link": func() error {
			return os.Symlink("/etc/passwd", kept)
		},
	} {
		os.Remove(kept)
		load()
		if name == "a link" {
			os.Remove(kept)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if c := OpenCache(kept); len(c.had) > 0 {
			t.Errorf("%s: used", name)
		}
	}
}

// TestCacheOfOthers: what another fettle, or a user, has written is nothing to go by, and a few rules are not worth a file.
func TestCacheOfOthers(t *testing.T) {
	means.Root(t)
	dir := t.TempDir()
	kept := filepath.Join(dir, "rules.book")
	r, ms := Parse("r.yaml", []byte(sound), false)
	if r == nil {
		t.Fatal(ms)
	}
	save := func(rules int, change func(*Cache)) {
		t.Helper()
		c := OpenCache(kept)
		for i := range rules {
			c.Add(fmt.Sprintf("/r%d.yaml", i), "stamp", "", []*Frozen{r.Freeze()})
		}
		change(c)
		c.Save()
	}
	if save(cacheWorth-1, func(*Cache) {}); len(OpenCache(kept).had) > 0 {
		t.Error("a file for a few rules")
	}
	if save(cacheWorth, func(*Cache) {}); len(OpenCache(kept).had) != cacheWorth {
		t.Fatal("nothing is kept")
	}
	if err := os.Chown(kept, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // of t.TempDir, to which nobody else comes
		t.Fatal(err)
	}
	means.AsNobody(t, func() {
		if _, err := os.ReadFile(kept); err != nil {
			t.Error(err)
		}
		if _, err := readCache(kept); err == nil || !strings.Contains(err.Error(), "not a cache of root's") {
			t.Errorf("a user's own file: %v", err)
		}
	})
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	if save(cacheWorth, func(c *Cache) { c.binary += " of yesterday" }); len(OpenCache(kept).had) > 0 {
		t.Error("what another fettle made of the rules is used")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

func soundID(t *testing.T) string {
	r, ms := Parse("r.yaml", []byte(sound), false)
	if r == nil {
		t.Fatal(ms)
	}
	return r.ID
}
