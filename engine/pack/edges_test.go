package pack

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"fettle/engine/rule"
	"fettle/internal/means"
)

// TestBounds: what a pack may just be, and what is one more.
func TestBounds(t *testing.T) {
	key, pub := signer(t, 'a')
	pack := func(change func(p *Pack)) string {
		p := &Pack{Manifest: Manifest{Name: "demo", Version: 1, Expires: "2999-01-01"}, Language: Language}
		change(p)
		text, err := json.Marshal(p)
		must(t, err)
		return string(text)
	}
	files := func(n int) func(p *Pack) {
		return func(p *Pack) {
			for i := range n {
				p.Files = append(p.Files, File{Path: fmt.Sprintf("a/healthy-%04d.txtar", i)})
			}
		}
	}
	plain := pack(func(*Pack) {})
	around := len(sealed(t, key, plain)) - len(plain)
	long := func(n int) string { return plain + strings.Repeat(" ", n-around-len(plain)) }
	for name, c := range map[string]struct{ text, want string }{
		"size":           {long(Limit), ""},
		"one byte more":  {long(Limit + 1), "larger than a pack may be (8 MiB)"},
		"files":          {pack(files(fileLimit)), ""},
		"one file more":  {pack(files(fileLimit + 1)), "4001 files; a pack has 4000 at most"},
		"version":        {pack(func(p *Pack) { p.Version = 1 << 30 }), ""},
		"a higher one":   {pack(func(p *Pack) { p.Version = 1<<30 + 1 }), "version 1073741825: expected a number from 1 on"},
		"a negative one": {pack(func(p *Pack) { p.Version = -1 }), "version -1: expected a number from 1 on"},
		"name":           {pack(func(p *Pack) { p.Name = strings.Repeat("a", 60) }), ""},
		"a longer one":   {pack(func(p *Pack) { p.Name = strings.Repeat("a", 61) }), "expected at most 60 lower-case letters"},
		"a capital":      {pack(func(p *Pack) { p.Name = "Demo" }), "expected at most 60 lower-case letters"},
		"no JSON":        {"x", "reading the pack"},
		"files unordered": {pack(func(p *Pack) { p.Files = []File{{Path: "b/rule.yaml"}, {Path: "a/rule.yaml"}} }),
			"files come once each, by name"},
	} {
		_, err := Open(sealed(t, key, c.text), []Key{pub})
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected: %s", name, err, c.want)
		}
	}
	if got := NameOf(sealed(t, key, plain)); got != "demo" {
		t.Errorf("the name %q", got)
	}
	if got := NameOf([]byte("nothing")); got != "" {
		t.Errorf("the name %q of what is no pack", got)
	}
}

// TestSignatures: forms of signatures that are none for a pack.
func TestSignatures(t *testing.T) {
	key, pub := signer(t, 'a')
	const text = `{"name":"demo","version":1,"expires":"2999-01-01","language":1,"files":[]}`
	armored := string(sshsig(t, key, Namespace, []byte(text)))
	body := strings.TrimSuffix(strings.TrimPrefix(armored, beginSignature), endSignature)
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(body))
	must(t, err)
	with := func(change func(s *blob)) string {
		var s blob
		must(t, ssh.Unmarshal(raw[len("SSHSIG"):], &s))
		change(&s)
		return beginSignature + base64.StdEncoding.EncodeToString(append([]byte("SSHSIG"), ssh.Marshal(s)...)) + endSignature
	}
	for name, c := range map[string]struct{ armored, want string }{
		"good":            {armored, ""},
		"on one line":     {with(func(*blob) {}), ""},
		"without its end": {beginSignature + body, "cannot be read"}, "without its beginning": {body + endSignature, "cannot be read"},
		"no base64": {beginSignature + "\n!" + body + endSignature, "cannot be read"},
		"another magic": {beginSignature + base64.StdEncoding.EncodeToString(append([]byte("SSHSIX"), raw[6:]...)) + endSignature,
			"cannot be read"},
		"cut off":        {beginSignature + base64.StdEncoding.EncodeToString(raw[:len(raw)-1]) + endSignature, "cannot be read"},
		"version 2":      {with(func(s *blob) { s.Version = 2 }), "cannot be read"},
		"another hash":   {with(func(s *blob) { s.Hash = "md5" }), `a signature with "md5"`},
		"the other hash": {with(func(s *blob) { s.Hash = "sha256" }), "does not belong to this pack"},
		"no inner one":   {with(func(s *blob) { s.Value = "x" }), "cannot be read"},
		"RSA with SHA-1": {with(func(s *blob) { s.Value = string(ssh.Marshal(ssh.Signature{Format: ssh.KeyAlgoRSA, Blob: []byte("x")})) }),
			"cannot be read"},
		"no key": {with(func(s *blob) { s.Key = "x" }), "cannot be read"},
		"another key": {with(func(s *blob) { other, _ := signer(t, 'b'); s.Key = string(other.PublicKey().Marshal()) }),
			"not pinned on this host: SHA256:"},
		"another purpose": {with(func(s *blob) { s.Namespace = "git" }), `one for "git"`},
	} {
		who, err := verify([]byte(c.armored), []byte(text), []Key{pub})
		if c.want == "" {
			if err != nil || who != pub.Signer {
				t.Errorf("%s: %q, %v", name, who, err)
			}
			continue
		}
		if who != "" || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v, expected: %s", name, who, err, c.want)
		}
	}
}

// TestChanges: what another version adds, changes and leaves out, by path.
func TestChanges(t *testing.T) {
	old := &Pack{Files: []File{{"a/rule.yaml", "1"}, {"b/rule.yaml", ""}, {"c/rule.yaml", "1"}, {"e/rule.yaml", "1"}}}
	newer := &Pack{Files: []File{{"a/rule.yaml", "2"}, {"b/rule.yaml", ""}, {"d/rule.yaml", ""}, {"e/rule.yaml", ""}}}
	want := []string{"~ a/rule.yaml", "- c/rule.yaml", "+ d/rule.yaml", "~ e/rule.yaml"}
	if got := old.Changes(newer); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNobodyElses: a file of the store, or the keys, that others may write to is not believed; nothing changes then.
func TestNobodyElses(t *testing.T) {
	key, pub := signer(t, 'a')
	one, two, three := build(t, key, 1), build(t, key, 2), build(t, key, 3)
	for _, kind := range []string{"pack", "previous", "highest", "keys"} {
		s := store(t, pub)
		for _, b := range [][]byte{one, two} {
			_, err := s.Install(b)
			must(t, err)
		}
		file := s.file("demo", kind)
		if kind == "keys" {
			file = s.Keys
		}
		must(t, os.Chmod(file, 0o666))
		before := tree(t, s.Dir)
		for verb, do := range map[string]struct {
			do     func() error
			spoilt string // by which files
		}{
			"Install":   {func() error { _, err := s.Install(three); return err }, "pack highest keys"},
			"Verify":    {func() error { _, err := s.Verify(three); return err }, "keys"},
			"Installed": {func() error { _, err := s.Installed("demo"); return err }, "pack keys"},
			"Rollback":  {func() error { _, err := s.Rollback("demo"); return err }, "pack previous keys"},
		} {
			if !strings.Contains(do.spoilt, kind) {
				continue
			}
			if err := do.do(); err == nil || !strings.Contains(err.Error(), "others may write to it") {
				t.Errorf("%s of others: %s: %v", kind, verb, err)
			}
			if after := tree(t, s.Dir); after != before {
				t.Errorf("%s of others: %s changed the store:\n%s", kind, verb, after)
			}
		}
	}
	s := store(t, pub)
	must(t, os.Remove(s.Keys))
	_, err := s.Install(one)
	wants(t, err, "no key is pinned: as root, write NAME TYPE KEY of the signer to "+s.Keys)
}

// tree is what a folder holds.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	es, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range es {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		fmt.Fprintf(&out, "%s: %.200q\n", e.Name(), b)
	}
	return out.String()
}

// TestNowhere: where the store cannot be written, or is no folder, that is said.
func TestNowhere(t *testing.T) {
	key, pub := signer(t, 'a')
	one, two := build(t, key, 1), build(t, key, 2)
	for _, kind := range []string{"previous", "pack", "highest"} {
		s := store(t, pub)
		if kind == "previous" {
			_, err := s.Install(one)
			must(t, err)
		}
		must(t, os.MkdirAll(filepath.Join(s.file("demo", kind), "in the way"), 0o755))
		if _, err := s.Install(two); err == nil {
			t.Errorf("installed, though %s is a folder", kind)
		}
	}
	s := store(t, pub)
	must(t, os.WriteFile(s.Dir, nil, 0o644))
	if _, err := s.Install(one); err == nil {
		t.Error("installed into a file")
	}
	if names, err := s.Names(); err == nil {
		t.Errorf("the packs %q in a file", names)
	}
	if _, refused := s.Rules(map[string]bool{}, nil, nil); len(refused) != 1 || refused[0].Path != s.Dir {
		t.Errorf("%v", refused)
	}
	s = store(t, pub)
	for name, err := range map[string]error{"Remove": s.Remove("demo"), "Installed": func() error {
		_,
			err := s.Installed("demo")
		return err
	}()} {
		if err == nil || err.Error() != "no pack demo is installed" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Installed("../demo"); err == nil || err.Error() != `no pack "../demo"` {
		t.Error(err)
	}
	must(t, os.MkdirAll(filepath.Join(s.file("demo", "pack"), "x"), 0o755))
	if err := s.Remove("demo"); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	must(t, os.WriteFile(s.file("Demo", "pack"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(s.Dir, "x.pack.old"), nil, 0o644))
	if names, err := s.Names(); err != nil || !slices.Equal(names, []string{"demo"}) {
		t.Errorf("%q, %v", names, err)
	}
}

// TestHighestStays: a rollback lowers no version below which nothing is installed, nor does repeating an install.
func TestHighestStays(t *testing.T) {
	key, pub := signer(t, 'a')
	s := store(t, pub)
	one, two := build(t, key, 1), build(t, key, 2)
	for _, b := range [][]byte{one, two} {
		_, err := s.Install(b)
		must(t, err)
	}
	_, err := s.Rollback("demo")
	must(t, err)
	written, err := os.Stat(s.file("demo", "highest"))
	must(t, err)
	_, err = s.Install(one)
	must(t, err)
	if n, err := s.highest("demo"); n != 2 || err != nil {
		t.Error(n, err)
	}
	if again, err := os.Stat(s.file("demo", "highest")); err != nil || !os.SameFile(written, again) {
		t.Error("the highest version was written again", err)
	}
}

// several is version 1 of the pack demo with its rule under these names, too.
func several(t *testing.T, key ssh.Signer, ids ...string) []byte {
	t.Helper()
	_, text, _ := strings.Cut(string(build(t, key, 1)), endSignature+"\n")
	p := &Pack{}
	must(t, json.Unmarshal([]byte(text), p))
	for i := range p.Files {
		if strings.HasSuffix(p.Files[i].Path, "rule.yaml") && !strings.Contains(p.Files[i].Text, "\nremedy:") {
			p.Files[i].Text += remedyRule
		}
	}
	for _, f := range slices.Clone(p.Files) {
		for _, id := range ids {
			p.Files = append(p.Files, File{strings.Replace(f.Path, "demo-trap", id, 1), strings.ReplaceAll(f.Text, "demo-trap", id)})
		}
	}
	slices.SortFunc(p.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	b, err := json.Marshal(p)
	must(t, err)
	return sealed(t, key, string(b))
}

// TestRulesKept: rules come from the cache as long as neither the pack nor the keys changed, with the day when they expire.
func TestRulesKept(t *testing.T) {
	means.Root(t)
	key, pub := signer(t, 'a')
	s := store(t, pub)
	_, err := s.Install(several(t, key, "trap-b", "trap-c", "trap-d"))
	must(t, err)
	name := filepath.Join(t.TempDir(), "cache", "rules.book")
	on := false
	load := func() (*rule.Cache, []*rule.Frozen, []rule.Refused) {
		c := rule.OpenCache(name)
		rules, refused := s.Rules(map[string]bool{}, func(string) bool { return on }, c)
		return c, rules, refused
	}
	kept := func() bool {
		_, _, ok := rule.OpenCache(name).Find(s.file("demo", "pack"), rule.Stamp(s.file("demo", "pack"))+" "+rule.Stamp(s.Keys))
		return ok
	}
	c, rules, refused := load()
	if len(rules) != 4 || len(refused) > 0 {
		t.Fatal(rules, refused)
	}
	if c.Save(); !kept() {
		t.Fatal("the rules are not kept under what pack and keys are")
	}
	for _, on = range []bool{true, false, true} { // what root turned on is not kept
		if _, rules, refused := load(); len(rules) != 4 || len(refused) > 0 || rules[0].From != "pack demo 1, signed by signer-a" {
			t.Error(rules, refused)
		} else if rules[0].Remedy != on {
			t.Errorf("remedies are on: %t, and root wants %t", rules[0].Remedy, on)
		}
	}
	s.Now = func() time.Time { return time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC) }
	if _, rules, refused := load(); len(rules) != 4 || len(refused) != 1 || !strings.Contains(refused[0].Error(),
		"the pack demo expired on 2999-01-01") {
		t.Error(rules, refused)
	}
	must(t, os.Chmod(s.Keys, 0o666))
	if _, rules, refused := load(); len(rules) > 0 || len(refused) != 1 {
		t.Error("keys that others may write to count by what was kept", rules, refused)
	}
	must(t, os.WriteFile(s.Keys, []byte("# none\n"), 0o644))
	must(t, os.Chmod(s.Keys, 0o644))
	if _, rules, refused := load(); len(rules) > 0 || len(refused) != 1 {
		t.Error("in use without a pinned key", rules, refused)
	}
}

// TestRulesOfOthers: a pack of which one rule is there already, and one that cannot be read, keep no other rule from use.
func TestRulesOfOthers(t *testing.T) {
	key, pub := signer(t, 'a')
	s := store(t, pub)
	_, err := s.Install(several(t, key, "other-trap"))
	must(t, err)
	must(t, s.write("acme", "pack", []byte("no pack")))
	rules, refused := s.Rules(map[string]bool{"demo-trap": true}, func(string) bool { return true }, nil)
	if len(rules) != 1 || rules[0].ID != "other-trap" {
		t.Errorf("%v", rules)
	}
	if len(refused) != 2 || !strings.Contains(refused[0].Error(), s.file("acme", "pack")+": not a pack") ||
		!strings.Contains(refused[1].Error(), "demo-trap is there already") {
		t.Errorf("%v", refused)
	}
}

// TestFolders: what a pack is not made of, and which file is to blame.
func TestFolders(t *testing.T) {
	key, _ := signer(t, 'a')
	sign := func(text []byte) ([]byte, error) { return sshsig(t, key, Namespace, text), nil }
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"no manifest": {func(dir string) error { return os.Remove(filepath.Join(dir, ManifestFile)) }, ManifestFile},
		"a misspelt setting": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ManifestFile), []byte("name: demo\nversion: 1\nexpire: 2999-01-01\n"), 0o644)
		}, ManifestFile + ":3"},
		"a second manifest": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ManifestFile), []byte("name: demo\nversion: 1\nexpires: 2999-01-01\n---\nversion: 2\n"), 0o644)
		}, ManifestFile + ":5: a second document"},
		"a large manifest": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ManifestFile), make([]byte, 65<<10), 0o644)
		}, ManifestFile},
		"no rule": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "demo-trap")) }, "a pack without rules"},
		"a large sample": {func(dir string) error {
			return os.Truncate(filepath.Join(dir, "demo-trap", "healthy.txtar"), Limit+1)
		}, "healthy.txtar"},
		"another file": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "demo-trap", "notes"), nil, 0o644) },
			`file "demo-trap/notes"`},
		"a rule's slip": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "demo-trap", "rule.yaml"), []byte("id: 1\n"),
				0o644)
		}, "rule.yaml"},
	} {
		dir := folder(t, 1, "2999-01-01")
		must(t, c.spoil(dir))
		if p, b, err := Build(t.Context(), dir, sign); err == nil || p != nil || b != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %d bytes, %v, expected: %s", name, p, len(b), err, c.want)
		}
	}
	if _, _, err := Build(t.Context(), folder(t, 1, "2999-01-01"), func([]byte) ([]byte, error) {
		return nil,
			os.ErrPermission
	}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("nobody signed: %v", err)
	}
	large := folder(t, 1, "2999-01-01")
	for i := range 3 {
		must(t, os.Truncate(filepath.Join(large, "demo-trap", "healthy.txtar"), 0))
		must(t, os.WriteFile(filepath.Join(large, "demo-trap", fmt.Sprintf("healthy-%d.txtar", i)), []byte(strings.Repeat("x", 3<<20)), 0o644))
	}
	if p, err := gather(large); err != nil || len(p.Files) != 7 {
		t.Errorf("%v", err)
	}
}

// TestClashBehindOthers: a pack that cannot be read, and the pack itself, hide no other that has its trap.
func TestClashBehindOthers(t *testing.T) {
	key, pub := signer(t, 'a')
	s := store(t, pub)
	one, two := build(t, key, 1), build(t, key, 2)
	_, text, _ := strings.Cut(string(one), endSignature+"\n")
	_, err := s.Install(one)
	must(t, err)
	must(t, s.write("acme", "pack", []byte("no pack")))
	must(t, s.write("zeta", "pack", sealed(t, key, strings.Replace(text, `"demo"`, `"zeta"`, 1))))
	_, err = s.Install(two)
	wants(t, err, "demo-trap is a trap of the pack zeta, which is installed here")
}
