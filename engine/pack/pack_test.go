package pack

import (
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"fettle/engine/rule"
	"fettle/engine/trap"
	"fettle/internal/means"
)

// signer signs as ssh-keygen -Y sign does.
func signer(t testing.TB, seed byte) (ssh.Signer, Key) {
	s, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), 32))))
	if err != nil {
		t.Fatal(err)
	}
	return s, Key{fmt.Sprintf("signer-%c", seed), s.PublicKey()}
}

func sshsig(t testing.TB, s ssh.Signer, namespace string, text []byte) []byte {
	sum := sha512.Sum512(text)
	data := append([]byte("SSHSIG"),
		ssh.Marshal(struct{ Namespace, Reserved, Hash, Message string }{namespace, "", "sha512", string(sum[:])})...)
	sig, err := s.Sign(nil, data)
	if err != nil {
		t.Fatal(err)
	}
	b := append([]byte("SSHSIG"), ssh.Marshal(blob{1, string(s.PublicKey().Marshal()), namespace, "", "sha512", string(ssh.Marshal(sig))})...)
	return []byte(beginSignature + "\n" + base64.StdEncoding.EncodeToString(b) + "\n" + endSignature)
}

// sealed is any text as a signed pack.
func sealed(t testing.TB, s ssh.Signer, text string) []byte {
	return []byte(magic + string(sshsig(t, s, Namespace, []byte(text))) + "\n" + text)
}

const remedyRule = `
remedy:
  title: write the file
  steps:
    - perm: {path: /etc/demo.conf, mode: "0644"}
`

// folder is a pack's folder, with the rule that pack new writes.
func folder(t testing.TB, version int, expires string) string {
	dir := t.TempDir()
	files, err := rule.Start("demo-trap")
	if err != nil {
		t.Fatal(err)
	}
	must(t, os.Mkdir(filepath.Join(dir, "demo-trap"), 0o755))
	for _, f := range files {
		must(t, os.WriteFile(filepath.Join(dir, "demo-trap", f.Name), []byte(f.Content), 0o644))
	}
	manifest := fmt.Sprintf("name: demo\nversion: %d\nexpires: %s\n", version, expires)
	must(t, os.WriteFile(filepath.Join(dir, ManifestFile), []byte(manifest), 0o644))
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func build(t testing.TB, s ssh.Signer, version int) []byte {
	t.Helper()
	sign := func(text []byte) ([]byte, error) { return sshsig(t, s, Namespace, text), nil }
	_, b, err := Build(t.Context(), folder(t, version, "2999-01-01"), sign)
	must(t, err)
	return b
}

func store(t testing.TB, keys ...Key) Store {
	dir := t.TempDir()
	now := func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) }
	s := Store{Dir: filepath.Join(dir, "packs"), Keys: filepath.Join(dir, "keys"), Now: now}
	var b strings.Builder
	for _, k := range keys {
		b.WriteString(k.Signer + " " + string(ssh.MarshalAuthorizedKey(k.Key)))
	}
	must(t, os.WriteFile(s.Keys, []byte(b.String()), 0o644))
	return s
}

// rebuilt is the pack with other words under the same name and version.
func rebuilt(t testing.TB, s ssh.Signer, b []byte) []byte {
	_, text, _ := strings.Cut(string(b), endSignature+"\n")
	return sealed(t, s, strings.Replace(text, "What is wrong", "What is amiss", 1))
}

func wants(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("%v, expected: %s", err, part)
	}
}

// TestLife: installed, updated, rolled back, removed; no step lets an older one in.
func TestLife(t *testing.T) {
	key, pub := signer(t, 'a')
	s := store(t, pub)
	one, two, three := build(t, key, 1), build(t, key, 2), build(t, key, 3)
	install := func(b []byte) {
		t.Helper()
		_, err := s.Install(b)
		must(t, err)
	}
	version := func() int {
		p, err := s.Installed("demo")
		must(t, err)
		return p.Version
	}
	_, err := s.Rollback("demo")
	wants(t, err, "no pack demo is installed")
	install(one)
	_, err = s.Rollback("demo")
	wants(t, err, "no earlier version")
	install(two)
	_, err = s.Install(one)
	wants(t, err, "kept here for a rollback")
	p, err := s.Rollback("demo")
	must(t, err)
	if p.Version != 1 || version() != 1 {
		t.Errorf("rolled back to %d, in use %d", p.Version, version())
	}
	install(one) // again changes nothing
	_, err = s.Install(two)
	wants(t, err, "fettle pack rollback demo puts it into use") // an automatic install does not undo it
	_, err = s.Install(rebuilt(t, key, two))
	wants(t, err, "not newer than version 2, which was installed here; hosts take only newer ones")
	if version() != 1 {
		t.Error(version())
	}
	install(three)
	if version() != 3 {
		t.Error(version())
	}
	must(t, s.Remove("demo"))
	_, err = s.Install(three)
	wants(t, err, "not newer than version 3, which was installed here; to install it again, remove "+s.file("demo", "highest"))
	if names, err := s.Names(); err != nil || len(names) > 0 {
		t.Error(names, err)
	}
	for _, evil := range []string{"../../etc/passwd", "a/b", "", ".."} {
		if _, err := s.Rollback(evil); err == nil {
			t.Errorf("%q rolled back", evil)
		}
		if s.Remove(evil) == nil {
			t.Errorf("%q removed", evil)
		}
	}
}

// TestAdmit: what a host has already is not refused; what install refuses is.
func TestAdmit(t *testing.T) {
	key, pub := signer(t, 'a')
	s := store(t, pub)
	one, two := build(t, key, 1), build(t, key, 2)
	admit := func(b []byte) (Have, error) {
		p, err := s.Verify(b)
		must(t, err)
		return s.Admit(p, b)
	}
	for _, b := range [][]byte{one, two} {
		if have, err := admit(b); have != Not || err != nil {
			t.Error(have, err)
		}
		_, err := s.Install(b)
		must(t, err)
	}
	for want, b := range map[Have][]byte{InUse: two, Kept: one} {
		if have, err := admit(b); have != want || err != nil {
			t.Error(have, err)
		}
	}
	_, err := admit(rebuilt(t, key, one))
	wants(t, err, "demo 1, signed by signer-a is not newer than version 2")
	must(t, os.Remove(s.file("demo", "highest"))) // the power was cut before it was written
	_, err = s.Install(two)
	must(t, err)
	if n, err := s.highest("demo"); n != 2 || err != nil {
		t.Error(n, err)
	}
}

// TestClash: two packs never have one trap, whoever signed them.
func TestClash(t *testing.T) {
	key, pub := signer(t, 'a')
	other, also := signer(t, 'b')
	s := store(t, pub, also)
	demo := build(t, key, 1)
	_, text, _ := strings.Cut(string(demo), endSignature+"\n")
	clash := sealed(t, other, strings.Replace(text, `"demo"`, `"acme"`, 1))
	const why = "demo-trap is a trap of the pack demo, which is installed here: give it another id in the pack acme, or remove demo"
	_, err := s.Install(demo)
	must(t, err)
	_, err = s.Install(clash)
	wants(t, err, why)
	_, err = s.Install(build(t, key, 2)) // the pack itself has it
	must(t, err)
	must(t, s.write("acme", "pack", clash)) // installed by a fettle that did not look
	_, refused := s.Rules(map[string]bool{}, func(string) bool { return false }, nil)
	if len(refused) != 1 || !strings.Contains(refused[0].Error(), "demo-trap is a trap of the pack acme already") {
		t.Error(refused)
	}
	must(t, os.Remove(s.file("acme", "pack")))
	must(t, s.Remove("demo"))
	_, err = s.Install(clash)
	must(t, err)
}

// TestAttackers: what somebody makes of good packs, or with a key that is not pinned.
func TestAttackers(t *testing.T) {
	key, pub := signer(t, 'a')
	other, _ := signer(t, 'b')
	s := store(t, pub)
	good, newer := string(build(t, key, 1)), string(build(t, key, 2))
	head := func(b string) string { h, _, _ := strings.Cut(b, endSignature+"\n"); return h + endSignature + "\n" }
	body := func(b string) string { _, t, _ := strings.Cut(b, endSignature+"\n"); return t }
	with := func(change func(p *Pack)) string {
		p := &Pack{}
		must(t, json.Unmarshal([]byte(body(good)), p))
		change(p)
		text, err := json.Marshal(p)
		must(t, err)
		return string(sealed(t, key, string(text)))
	}
	ruleText := func(p *Pack) *string {
		for i := range p.Files {
			if strings.HasSuffix(p.Files[i].Path, "rule.yaml") {
				return &p.Files[i].Text
			}
		}
		return nil
	}
	for name, c := range map[string]struct{ pack, want string }{
		"swapped signature": {head(newer) + body(good), "does not belong"},
		"mixed files":       {head(good) + body(newer), "does not belong"},
		"one byte":          {strings.Replace(good, "demo-trap/rule.yaml", "demo-trip/rule.yaml", 1), "does not belong"},
		"appended":          {good + "\n", "does not belong"},
		"another key":       {string(build(t, other, 9)), "not pinned"},
		"another purpose":   {magic + string(sshsig(t, key, "fettle-release", []byte(body(good)))) + "\n" + body(good), `one for "fettle-release"`},
		"no signature":      {magic + body(good), "no signature"},
		"not a pack":        {"PK\x03\x04", "not a pack"},
		"garbage signature": {magic + beginSignature + "\nAAAA\n" + endSignature + "\n" + body(good), "cannot be read"},
		"huge":              {magic + strings.Repeat("x", Limit), "larger than"},
		"frozen":            {with(func(p *Pack) { p.Expires = "2026-12-31" }), "expired on 2026-12-31"},
		"expires the day":   {with(func(p *Pack) { p.Expires = "2027-01-01" }), "expired"},
		"never expires":     {with(func(p *Pack) { p.Expires = "" }), "expires"},
		"a newer language":  {with(func(p *Pack) { p.Language = Language + 1 }), "too old"},
		"unknown field":     {string(sealed(t, key, `{"name":"demo","version":1,"expires":"2999-01-01","language":1,"files":[],"x":1}`)), "unknown field"},
		"version 0":         {with(func(p *Pack) { p.Version = 0 }), "version 0"},
		"name":              {with(func(p *Pack) { p.Name = "../../etc/cron.d/x" }), "name"},
		"path escapes":      {with(func(p *Pack) { p.Files[0].Path = "../../../etc/passwd" }), "expected ID/rule.yaml"},
		"absolute path":     {with(func(p *Pack) { p.Files[0].Path = "/etc/passwd" }), "expected ID/rule.yaml"},
		"twice":             {with(func(p *Pack) { p.Files = append(p.Files, p.Files[len(p.Files)-1]) }), "once each"},
		"no rules":          {with(func(p *Pack) { p.Files = nil }), "without rules"},
		"another id": {with(func(p *Pack) {
			r := ruleText(p)
			*r = strings.Replace(*r, "id: demo-trap", "id: other-trap", 1)
		}), "not the folder's name"},
		"a command": {with(func(p *Pack) {
			r := ruleText(p)
			*r = strings.Replace(*r, "facts:\n", "facts:\n  c: {command: [dmesg]}\n", 1)
		}), "command"},
		"a YAML bomb":        {with(func(p *Pack) { *ruleText(p) = bomb() }), "rule.yaml"},
		"deep YAML":          {with(func(p *Pack) { *ruleText(p) = strings.Repeat("[", 60000) }), "rule.yaml"},
		"a huge rule":        {with(func(p *Pack) { *ruleText(p) += strings.Repeat("# x\n", 20000) }), "larger than a rule"},
		"no YAML whatsoever": {with(func(p *Pack) { *ruleText(p) = "\x00\xff" }), "rule.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Install([]byte(c.pack))
			wants(t, err, c.want)
			if names, _ := s.Names(); len(names) > 0 {
				t.Error("installed")
			}
		})
	}
	if _, err := s.Install([]byte(good)); err != nil { // the tests above fail for their own reasons
		t.Error(err)
	}
}

func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i, i, i, i, i)
	}
	return b.String()
}

// TestLinks: neither a link in the store nor one in a pack's folder leads anywhere.
func TestLinks(t *testing.T) {
	key, pub := signer(t, 'a')
	s := store(t, pub)
	target := filepath.Join(t.TempDir(), "target")
	must(t, os.WriteFile(target, []byte("mine"), 0o644))
	must(t, os.Mkdir(s.Dir, 0o755))
	must(t, os.Symlink(target, filepath.Join(s.Dir, "demo.highest")))
	_, err := s.Install(build(t, key, 1))
	wants(t, err, "not a version")
	must(t, os.Remove(filepath.Join(s.Dir, "demo.highest")))
	must(t, os.Symlink(target, filepath.Join(s.Dir, "demo.previous")))
	_, err = s.Install(build(t, key, 1))
	must(t, err)
	_, err = s.Install(build(t, key, 2))
	must(t, err)
	if b, _ := os.ReadFile(target); string(b) != "mine" {
		t.Errorf("the link was followed: %s", b)
	}
	dir := folder(t, 1, "2999-01-01")
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "demo-trap", "healthy-more.txtar")))
	_, _, err = Build(t.Context(), dir, nil)
	wants(t, err, "not a regular file")
}

// TestBuildFails: no pack of a rule whose sample fails.
func TestBuildFails(t *testing.T) {
	dir := folder(t, 1, "2999-01-01")
	name := filepath.Join(dir, "demo-trap", "healthy.txtar")
	b, err := os.ReadFile(name)
	must(t, err)
	must(t, os.WriteFile(name, []byte(strings.Replace(string(b), "clear", "unknown", 1)), 0o644))
	_, _, err = Build(t.Context(), dir, nil)
	wants(t, err, "sample healthy.txtar failed")
	dir = folder(t, 1, "2999-01-01")
	must(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	for _, name := range []string{".git/HEAD", "demo-trap/.rule.yaml.swp", "demo-trap/rule.yaml~", "README"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("no part of it"), 0o644))
	}
	if p, err := gather(dir); err != nil || len(p.Files) != 4 {
		t.Errorf("beside what is no part of it: %+v, %v", p, err)
	}
	_, _, err = Build(t.Context(), folder(t, 1, "2020-01-01"), nil)
	wants(t, err, "no host installs a pack on 2020-01-01 or later, and today is ")
}

// TestRemediesOff: a pack's remedies are off until root turns them on, its plans name the
// signer, and an unpinned key takes its pack out of use.
func TestRemediesOff(t *testing.T) {
	key, pub := signer(t, 'a')
	s := store(t, pub)
	p := &Pack{}
	_, text, _ := strings.Cut(string(build(t, key, 1)), endSignature+"\n")
	must(t, json.Unmarshal([]byte(text), p))
	for i := range p.Files {
		if strings.HasSuffix(p.Files[i].Path, "rule.yaml") && !strings.Contains(p.Files[i].Text, "\nremedy:") {
			p.Files[i].Text += remedyRule
		}
	}
	b, err := json.Marshal(p)
	must(t, err)
	_, err = s.Install(sealed(t, key, string(b)))
	must(t, err)
	load := func(on bool) (*rule.Frozen, *trap.Trap) {
		rules, refused := s.Rules(map[string]bool{}, func(name string) bool { return on && name == "demo" }, nil)
		if len(rules) != 1 || len(refused) > 0 {
			t.Fatal(rules, refused)
		}
		return rules[0], rules[0].Trap()
	}
	if r, tr := load(false); tr.Plan != nil || r.Off != "demo" {
		t.Errorf("the remedy is on, or off because of %q", r.Off)
	}
	r, tr := load(true)
	if tr.Plan == nil || r.Off != "" || r.From != "pack demo 1, signed by signer-a" {
		t.Errorf("plan %v, from %q", tr.Plan != nil, r.From)
	}
	if _, refused := s.Rules(map[string]bool{"demo-trap": true}, func(string) bool { return true }, nil); len(refused) != 1 {
		t.Error("two traps of one id")
	}
	must(t, os.WriteFile(s.Keys, []byte("# none\n"), 0o644))
	if rules, refused := s.Rules(map[string]bool{}, func(string) bool { return true }, nil); len(rules) > 0 || len(refused) != 1 {
		t.Error("in use without a pinned key", refused)
	}
}

// TestExpiredInUse: an installed pack that nobody renews stays in use, and says so.
func TestExpiredInUse(t *testing.T) {
	key, pub := signer(t, 'a')
	s := store(t, pub)
	_, err := s.Install(build(t, key, 1))
	must(t, err)
	s.Now = func() time.Time { return time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC) }
	rules, refused := s.Rules(map[string]bool{}, func(string) bool { return false }, nil)
	if len(rules) != 1 || len(refused) != 1 || !strings.Contains(refused[0].Error(), "expired on 2999-01-01") {
		t.Error(rules, refused)
	}
}

func TestParseKeys(t *testing.T) {
	_, pub := signer(t, 'a')
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(pub.Key)))
	for text, want := range map[string]string{
		"ops " + line: "", "# c\n\nops namespaces=\"fettle-pack\" " + line + " comment": "",
		"ops cert-authority " + line: "option", "ops namespaces=\"git\" " + line: "option", line: "expected NAME", "ops": "expected NAME",
		"ops cert-authority,namespaces=\"fettle-pack\" " + line:                                "option",
		"ops namespaces=\"fettle-pack,git\" " + line:                                           "option",
		"ops namespaces=\"*\" " + line:                                                         "option",
		"ops valid-before=\"20200101\" " + line:                                                "option",
		"ops namespaces=\"fettle-pack\",valid-after=\"20990101\" " + line:                      "option",
		"ops " + strings.Replace(line, "ssh-ed25519 ", "ssh-ed25519-cert-v01@openssh.com ", 1): "expected NAME",
	} {
		keys, err := ParseKeys("keys", []byte(text))
		if want != "" {
			wants(t, err, want)
		} else if err != nil || len(keys) != 1 || keys[0].Signer != "ops" {
			t.Errorf("%s: %v, %v", text, keys, err)
		}
	}
}

// TestAnotherName: a pack counts under the name that was signed, wherever it comes from or lies.
func TestAnotherName(t *testing.T) {
	key, pub := signer(t, 'a')
	s := store(t, pub)
	one, two := build(t, key, 1), build(t, key, 2)
	_, err := s.Install(two)
	must(t, err)
	must(t, s.write("acme", "pack", one)) // what is newer than any acme is an old demo
	_, err = s.Installed("acme")
	wants(t, err, "the pack demo under another name")
	if rules, refused := s.Rules(map[string]bool{}, func(string) bool { return true }, nil); len(rules) != 1 || len(refused) != 1 {
		t.Error(rules, refused)
	}
	if p, err := s.Installed("demo"); err != nil || p.Version != 2 {
		t.Error(p, err)
	}
}

// TestOneBadKey: a file of keys with a line that nobody can take at its word pins none, rather than the others.
func TestOneBadKey(t *testing.T) {
	key, pub := signer(t, 'a')
	s := store(t, pub)
	_, err := s.Install(build(t, key, 1))
	must(t, err)
	good, err := os.ReadFile(s.Keys)
	must(t, err)
	must(t, os.WriteFile(s.Keys, []byte(string(good)+"eve cert-authority "+strings.TrimPrefix(string(good), "signer-a ")), 0o644))
	_, err = s.Install(build(t, key, 2))
	wants(t, err, "keys:2: option cert-authority")
	if rules, refused := s.Rules(map[string]bool{}, func(string) bool { return true }, nil); len(rules) > 0 || len(refused) != 1 {
		t.Error("in use with keys that cannot be read", refused)
	}
	must(t, os.Chmod(s.Keys, 0o666))
	must(t, os.WriteFile(s.Keys, good, 0o666))
	_, err = s.Install(build(t, key, 2))
	wants(t, err, "others may write to it")
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzOpen: whatever somebody offers, nothing is opened that no pinned key signed.
func FuzzOpen(f *testing.F) {
	key, pub := signer(f, 'a')
	const text = `{"name":"demo","version":1,"expires":"2999-01-01","language":1,"files":[]}`
	good := sealed(f, key, text)
	f.Add(good)
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, is, _ := strings.Cut(string(b), endSignature+"\n")
		if p, err := Open(b, []Key{pub}); err == nil && (is != text || p.Signer != pub.Signer) {
			t.Errorf("opened as %s's", p.Signer)
		}
	})
}
