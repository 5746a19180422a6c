//go:build unix

package rule

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle/internal/means"
)

func none(string) bool { return false }

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.yaml", sound)
	write(t, dir+"/b/rule.yaml", strings.Replace(sound, "a-rule", "b-rule", 1))
	write(t, dir+"/twice.yaml", sound)
	write(t, dir+"/taken.yaml", strings.Replace(sound, "a-rule", "bridge-mtu", 1))
	write(t, dir+"/bad.yaml", "id: [")
	write(t, dir+"/notes.txt", "nothing")
	write(t, dir+"/.hidden.yaml", "nothing")
	write(t, dir+"/c/notes.txt", "nothing")
	rules, refused := Load([]string{dir, dir + "/none"}, map[string]bool{"bridge-mtu": true}, nil)
	var got []string
	for _, r := range rules {
		got = append(got, r.ID)
	}
	if s := strings.Join(got, " "); s != "a-rule b-rule" {
		t.Errorf("loaded %s", s)
	}
	want := map[string]string{
		"bad.yaml":   ":1:5: not YAML",
		"taken.yaml": "bridge-mtu is one of fettle's own traps",
		"twice.yaml": "a-rule is there already, from " + dir + "/a.yaml",
	}
	for _, r := range refused {
		if w := want[filepath.Base(r.Path)]; w == "" || !strings.Contains(r.Error(), w) {
			t.Errorf("%s: %v", r.Path, r)
		}
		delete(want, filepath.Base(r.Path))
	}
	if len(want) > 0 {
		t.Errorf("not refused: %v", want)
	}
}

// TestTrust: what others can write to is not loaded.
func TestTrust(t *testing.T) {
	means.Root(t) // gives files away
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir, file string)
		want  string // "" loads
	}{
		"sound":          {func(*testing.T, string, string) {}, ""},
		"file others":    {func(t *testing.T, _, f string) { must(t, os.Chmod(f, 0o646)) }, "others may write to it"},
		"file group":     {func(t *testing.T, _, f string) { must(t, os.Chmod(f, 0o664)) }, "others may write to it"},
		"folder others":  {func(t *testing.T, d, _ string) { must(t, os.Chmod(d, 0o777)) }, "others may write to it"},
		"folder group":   {func(t *testing.T, d, _ string) { must(t, os.Chmod(d, 0o775)) }, "others may write to it"},
		"parent":         {func(t *testing.T, d, _ string) { must(t, os.Chmod(filepath.Dir(d), 0o777)) }, "others may write to it"},
		"sticky":         {func(t *testing.T, d, _ string) { must(t, os.Chmod(filepath.Dir(d), 0o777|os.ModeSticky)) }, ""},
		"file's owner":   {func(t *testing.T, _, f string) { must(t, os.Chown(f, 12345, 0)) }, "belongs to user 12345, and must belong to root"},
		"folder's owner": {func(t *testing.T, d, _ string) { must(t, os.Chown(d, 12345, 0)) }, "belongs to user 12345"},
		"link away": {func(t *testing.T, d, f string) {
			other := filepath.Join(t.TempDir(), "evil.yaml")
			write(t, other, sound)
			must(t, os.Chown(other, 12345, 0))
			must(t, os.Remove(f))
			must(t, os.Symlink(other, f))
		}, "belongs to user 12345"},
		"link's owner": {func(t *testing.T, d, f string) {
			other := write(t, filepath.Join(t.TempDir(), "ok.yaml"), sound)
			must(t, os.Remove(f))
			must(t, os.Symlink(other, f))
			must(t, os.Lchown(f, 12345, 0))
		}, "belongs to user 12345"},
		"pipe": {func(t *testing.T, d, f string) {
			must(t, os.Remove(f))
			mkfifo(t, f)
		}, "not a regular file"},
		"large": {func(t *testing.T, d, f string) { write(t, f, strings.Repeat("# x\n", 20000)) }, "larger than a rule may be"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "traps.d")
			file := write(t, dir+"/a.yaml", sound)
			c.spoil(t, dir, file)
			rules, refused := Load([]string{dir}, nil, nil)
			if c.want == "" {
				if len(rules) != 1 || len(refused) != 0 {
					t.Errorf("%v", refused)
				}
				return
			}
			if len(rules) != 0 || len(refused) != 1 || !strings.Contains(refused[0].Error(), c.want) {
				t.Errorf("%d loaded, refused %v, want %s", len(rules), refused, c.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
