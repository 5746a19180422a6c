//go:build unix

package rule

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/hosttest"
	"fettle/internal/means"
)

// TestFolderBound: as many entries as a folder of rules may have, and one more.
func TestFolderBound(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.yaml", sound)
	for i := range loadLimit - 1 {
		must(t, os.WriteFile(fmt.Sprintf("%s/.%d", dir, i), nil, 0o644))
	}
	if rules, refused := Load([]string{dir}, nil, nil); len(rules) != 1 || len(refused) != 0 {
		t.Errorf("500 entries: %d loaded, %v", len(rules), refused)
	}
	write(t, dir+"/.last", "")
	rules, refused := Load([]string{dir}, nil, nil)
	if len(rules) != 0 || len(refused) != 1 || refused[0].Error() != "rules in "+dir+": more than 500" || refused[0].Path != dir {
		t.Errorf("501 entries: %d loaded, %v", len(rules), refused)
	}
}

// TestFilesOfAFolder: which files of a folder are rules; one that is refused keeps no other from being loaded.
func TestFilesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	named := func(id string) string { return strings.Replace(sound, "a-rule", id, 1) }
	write(t, dir+"/z.yml", named("z-rule"))
	write(t, dir+"/pack.yaml", "of: packs")
	write(t, dir+"/a/rule.yaml", named("in-folder"))
	write(t, dir+"/a/other.yaml", named("other"))
	write(t, dir+"/b/pack.yaml", "nothing")
	write(t, dir+"/bad.yaml", strings.Replace(strings.Replace(sound, "title:", "titel:", 1), "severity: warning", "severity: bad", 1))
	must(t, os.Symlink("c", dir+"/link"))
	write(t, dir+"/c/rule.yaml", named("by-link"))
	must(t, os.Symlink(dir+"/none", dir+"/dangling.yaml"))
	file := write(t, t.TempDir()+"/file", "x")
	rules, refused := Load([]string{file, dir}, nil, nil)
	var ids, why []string
	for _, r := range rules {
		ids = append(ids, r.ID+" "+strings.TrimPrefix(r.Path, dir))
	}
	for _, r := range refused {
		why = append(why, strings.ReplaceAll(r.Error(), dir, "DIR"))
	}
	want := "in-folder /a/rule.yaml, by-link /c/rule.yaml, z-rule /z.yml"
	if got := strings.Join(ids, ", "); got != want {
		// The link is the folder once more: its rule is there already.
		t.Errorf("loaded %s, want %s", got, want)
	}
	for _, w := range []string{"rules: ", "DIR/bad.yaml:1:1: title is missing (and 2 more: fettle lore check DIR/bad.yaml)", "DIR/none",
		"DIR/link/rule.yaml: by-link is there already, from DIR/c/rule.yaml"} {
		if !slices.ContainsFunc(why, func(s string) bool { return strings.Contains(s, w) }) {
			t.Errorf("no %q among:\n%s", w, strings.Join(why, "\n"))
		}
	}
	if len(why) != 4 {
		t.Errorf("refused:\n%s", strings.Join(why, "\n"))
	}
}

// TestLinksToARule: links are followed wherever they lead, forty of them and no more.
func TestLinksToARule(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/real/a.yaml", sound)
	must(t, os.Symlink("real/../real/./a.yaml", dir+"/1"))
	for i := 2; i <= 41; i++ {
		must(t, os.Symlink(filepath.Base(fmt.Sprint(i-1)), fmt.Sprintf("%s/%d", dir, i)))
	}
	must(t, os.Symlink(dir+"/real", dir+"/abs"))
	for name, want := range map[string]string{"real/a.yaml": "", "1": "", "40": "", "41": "too many symlinks", "abs/a.yaml": "",
		"abs/../real/a.yaml": "",
		"none":               "no such file", "real": "is not a regular file", "abs": "is not a regular file"} {
		r, err := ReadFile(dir + "/" + name)
		if want == "" && (err != nil || r.ID != "a-rule" || r.Path != dir+"/"+name) || want != "" && (err == nil || !strings.Contains(err.Error(),
			want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	t.Chdir(dir)
	if r, err := ReadFile("./real//a.yaml"); err != nil || r.ID != "a-rule" {
		t.Errorf("a relative path: %v", err)
	}
}

// TestReadToCheck: whoever wrote it, a file is read to look for mistakes, up to the bound.
func TestReadToCheck(t *testing.T) {
	dir := t.TempDir()
	mkfifo(t, dir+"/fifo")
	write(t, dir+"/most", strings.Repeat("#", FileLimit))
	write(t, dir+"/more", strings.Repeat("#", FileLimit+1))
	write(t, dir+"/open", "x")
	must(t, os.Chmod(dir+"/open", 0o666))
	for name, want := range map[string]string{"most": "", "more": "/more: larger than a rule may be (64 KiB)", "open": "",
		"fifo": "/fifo is not a regular file",
		"":     "is not a regular file", "none": "no such file"} {
		b, err := Read(filepath.Join(dir, name))
		if want == "" && (err != nil || len(b) == 0) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %d bytes, %v, want %q", name, len(b), err, want)
		}
	}
	if b, err := ReadTrusted(write(t, dir+"/five", "12345"), 5); err != nil || string(b) != "12345" {
		t.Errorf("as large as is allowed: %q, %v", b, err)
	}
	if _, err := ReadTrusted(dir+"/five", 4); err == nil {
		t.Error("larger than is allowed")
	}
}

// TestDirsOfUsers: the folder of rules that are a user's own.
func TestDirsOfUsers(t *testing.T) {
	home, conf := t.TempDir(), t.TempDir()
	t.Setenv("SUDO_UID", "")
	t.Setenv("HOME", home)
	const host = "/etc/fettle/traps.d"
	own := func(top string) string { return filepath.Join(top, "fettle/traps.d") }
	for _, c := range []struct {
		conf, home, make string
		want             []string
	}{
		{"", home, "", []string{host}},
		{"", home, home + "/.config", []string{host, own(home + "/.config")}},
		{conf, home, "", []string{host}}, // what is set counts, not the home
		{conf, home, conf, []string{host, own(conf)}},
		{"relative", home, "", []string{host}},
		{"", "", "", []string{host}},
	} {
		t.Setenv("XDG_CONFIG_HOME", c.conf)
		t.Setenv("HOME", c.home)
		if c.make != "" {
			must(t, os.MkdirAll(own(c.make), 0o755))
		}
		if got := Dirs(); !slices.Equal(got, c.want) {
			t.Errorf("%q, %q: %v, want %v", c.conf, c.home, got, c.want)
		}
	}
	if os.Geteuid() == 0 {
		t.Setenv("XDG_CONFIG_HOME", conf)
		t.Setenv("HOME", home)
		t.Setenv("SUDO_UID", "0") // root called it
		if got := Dirs(); !slices.Contains(got, own(conf)) {
			t.Errorf("root by sudo of root: %v", got)
		}
	}
}

// TestGateHolds: the part of a rule that is read first holds what its conditions need, and no more; a rule without
// conditions has none.
func TestGateHolds(t *testing.T) {
	frozen := func(text string) *Frozen {
		r, ms := Parse("r.yaml", []byte(text), false)
		if r == nil {
			t.Fatal(ms)
		}
		return r.Freeze()
	}
	without := strings.Replace(sound, "applies:\n  - when: conf.exists\n    otherwise: not installed\n", "", 1)
	if f := frozen(without); f.Gate != "" || !f.Remedy || f.ID != "a-rule" || f.Path != "r.yaml" {
		t.Errorf("without conditions: %+v", f)
	}
	for applies, want := range map[string]string{
		"when: conf.exists\n    otherwise: x":                            "conf",
		"when: limit > 0\n    otherwise: x":                              "conf limit",
		"when: limit > 0 && limit < 9\n    otherwise: no {{name.value}}": "conf name limit",
	} {
		f := frozen(strings.Replace(sound, "when: conf.exists\n    otherwise: not installed", applies, 1))
		g, err := f.thaw(f.Gate)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range g.Facts {
			got = append(got, x.Name)
		}
		for _, x := range g.Lets {
			got = append(got, x.Name)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", applies, s, want)
		}
	}
}

// TestBrokenBook: a book that is cut or spoilt is refused, and a rule whose part is spoilt is unknown, by its file's name.
func TestBrokenBook(t *testing.T) {
	r, ms := Parse("r.yaml", []byte(sound), false)
	if r == nil {
		t.Fatal(ms)
	}
	book := string(AppendBook([]byte("x"), []*Frozen{r.Freeze()}))[1:]
	if book != string(Book([]*Frozen{r.Freeze()})) {
		t.Error("a book behind something else is another book")
	}
	for what, text := range map[string]string{"cut": book[:len(book)-1], "longer": book + "\x00", "a rule that is none": "\x01\x00",
		"empty": ""} {
		if rules, err := OpenBook(text, false); err == nil {
			t.Errorf("%s: %d rules", what, len(rules))
		}
	}
	h := hosttest.New(t, "-- root/etc/a.conf --\nLimit = 1\n-- root/etc/hostname --\nweb1\n")
	for what, spoil := range map[string]func(*Frozen){
		"gate": func(f *Frozen) { f.Gate = f.Gate[1:] }, "body": func(f *Frozen) { f.Body = f.Body[:len(f.Body)-1] },
	} {
		f := r.Freeze()
		spoil(f)
		var out []trap.Outcome
		trap.Run(t.Context(), h, []*trap.Trap{f.Trap()}, trap.Options{}, func(res trap.Result) { out = res.Outcomes })
		if len(out) != 1 || out[0].Status != trap.Unknown || out[0].Reason != "r.yaml: not the flat form of a rule" {
			t.Errorf("%s: %+v", what, out)
		}
		if what == "body" {
			if _, err := f.Trap().Plan(t.Context(), host.New(h.Source()), trap.Finding{}); err == nil {
				t.Error("a plan of a rule that cannot be read")
			}
		}
	}
	if f := r.Freeze(); f.Trap().Plan == nil {
		t.Error("a rule with a remedy makes no plan")
	}
	r.Remedy = nil
	if f := r.Freeze(); f.Remedy || f.Trap().Plan != nil {
		t.Error("a rule without a remedy makes a plan")
	}
}

// TestStamp: a file that others could have written has no stamp, and each state of one has its own.
func TestStamp(t *testing.T) {
	name := write(t, t.TempDir()+"/a", "1")
	first := Stamp(name)
	if first == "" || Stamp(name) != first {
		t.Errorf("%q, then %q", first, Stamp(name))
	}
	write(t, name, "12")
	if Stamp(name) == first {
		t.Error("the same stamp after a change")
	}
	must(t, os.Symlink(name, name+"-link"))
	for _, other := range []string{name + "-link", filepath.Dir(name), name + "-none"} {
		if s := Stamp(other); s != "" {
			t.Errorf("%s: %q", other, s)
		}
	}
	for _, mode := range []os.FileMode{0o664, 0o646} {
		must(t, os.Chmod(name, mode))
		if s := Stamp(name); s != "" {
			t.Errorf("mode %v: %q", mode, s)
		}
	}
	means.Root(t) // gives files away
	must(t, os.Chmod(name, 0o644))
	must(t, os.Chown(name, 12345, 0))
	if s := Stamp(name); s != "" {
		t.Errorf("somebody else's: %q", s)
	}
}

// TestLoreOfMessages: explain and why read the messages with all that is said of them, and no empty list.
func TestLoreOfMessages(t *testing.T) {
	lore := func(text string) string {
		r, ms := Parse("r.yaml", []byte(text), false)
		if r == nil {
			t.Fatal(ms)
		}
		return string(r.Lore())
	}
	if l := lore(sound); strings.Contains(l, "messages:") || strings.Contains(l, "tags:") || strings.Contains(l, "horizon:") {
		t.Errorf("lists of nothing:\n%s", l)
	}
	got := lore(strings.Replace(sound, "since: always",
		"messages:\n  - {text: the disk is full, says: any program, since: x, perhaps: true}\n"+
			"  - {text: 'a \"full\" disk for everybody', says: kernel, since: y, harmless: true, about: z}\ntags: [a]\n"+
			"horizon: [now, update]\nsince: always", 1))
	for _, want := range []string{
		"messages:\n  - text: \"the disk is full\"\n    says: \"any program\"\n    since: \"x\"\n    perhaps: true\n" +
			"  - text: 'a \"full\" disk for everybody'\n    says: \"kernel\"\n    since: \"y\"\n    about: \"z\"\n    harmless: true\n",
		"tags:\n  - \"a\"\n", "horizon: [now, update]\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no\n%s\nin\n%s", want, got)
		}
	}
}
