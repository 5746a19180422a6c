package hub

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nkeys"

	"fettle/fleet/hub/bus"
	"fettle/fleet/hub/join"
	"fettle/fleet/hub/store"
	"fettle/fleet/hub/store/storetest"
)

func userKey(t *testing.T) string {
	t.Helper()
	k, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	s, err := k.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRevokedList: what is written is read again; a line that says something else is refused, by its
// number.
func TestRevokedList(t *testing.T) {
	file := filepath.Join(t.TempDir(), RevokedFile)
	at := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	a, b := userKey(t), userKey(t)
	list := []store.RevokedKey{{Key: a, Agent: "web1", Retired: true, At: at}, {Key: b, Agent: "web2", At: at.Add(time.Hour)}}
	if err := writeRevoked(file, list); err != nil {
		t.Fatal(err)
	}
	if got, err := readRevoked(file); err != nil || !slices.Equal(got, list) {
		t.Errorf("%+v, %v", got, err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	for line, ok := range map[string]bool{
		"": true, " # note": true, a + " web1 retired 2026-11-22T06:00:00Z": true, a + " web1 replaced 2026-11-22T06:00:00+01:00 ": true,
		a + " web1 retired": false, a + " web1 retired 2026-11-22T06:00:00Z x": false, a + " web1 gone 2026-11-22T06:00:00Z": false,
		a + " we/b1 retired 2026-11-22T06:00:00Z": false, "U" + a[:20] + " web1 retired 2026-11-22T06:00:00Z": false,
		a + " web1 retired 2026-11-22": false,
	} {
		if err := os.WriteFile(file, []byte("# first\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readRevoked(file)
		if (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), file+":2: ") ||
			ok && (len(got) == 1) != strings.HasPrefix(line, a) {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
	got := merged([]store.RevokedKey{list[0]}, []store.RevokedKey{{Key: a}, list[1], {Key: b}})
	if !slices.Equal(got, list) {
		t.Errorf("merged: %+v", got)
	}
}

// TestRecall: the database and the list tell each other what they know; a list that cannot be read is
// never written over.
func TestRecall(t *testing.T) {
	dir, db := t.TempDir(), storetest.SQLite(t)
	file := filepath.Join(dir, RevokedFile)
	if err := Remember(t.Context(), dir, db); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("no list of no keys: %v", err)
	}
	a, b := userKey(t), userKey(t)
	one := store.RevokedKey{Key: a, Agent: "web1", Retired: true, At: time.Unix(1e9, 0).UTC()}
	other := store.RevokedKey{Key: b, Agent: "web2", Retired: true, At: time.Unix(2e9, 0).UTC()}
	if err := errors.Join(writeRevoked(file, []store.RevokedKey{one}), db.Revoke(t.Context(), []store.RevokedKey{other})); err != nil {
		t.Fatal(err)
	}
	if err := recall(t.Context(), dir, db); err != nil {
		t.Fatal(err)
	}
	in, err := readRevoked(file)
	is, derr := db.RevokedKeys(t.Context())
	for _, list := range [][]store.RevokedKey{in, is} {
		if got := fmt.Sprint(list); err != nil || derr != nil || len(list) != 2 || !strings.Contains(got, fmt.Sprint(one)) ||
			!strings.Contains(got, fmt.Sprint(other)) {
			t.Errorf("%+v, %v, %v", list, err, derr)
		}
	}
	if err := os.WriteFile(file, []byte("broken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if Remember(t.Context(), dir, db) == nil || recall(t.Context(), dir, db) == nil {
		t.Error("a list that cannot be read is good enough")
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "broken\n" {
		t.Errorf("%s, %v", b, err)
	}
	// A hub that does not start because of it leaves its folder to the next try.
	if _, err := Start(t.Context(), Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), RevokedFile) {
		t.Fatal(err)
	}
	lock, err := alone(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alone(dir); err == nil || !strings.Contains(err.Error(), "another fettle-hub runs") {
		t.Error(err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAddresses: where agents reach a hub, by which names, and how this machine does.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		c     Config
		urls  string
		names string
		title string
	}{
		{Config{Listen: ":4222", Names: []string{"hub.example", "h2"}}, "tls://hub.example:4222 tls://h2:4222",
			"hub.example h2 localhost 127.0.0.1 ::1", "hub.example"},
		{Config{Listen: "192.0.2.1:4222"}, "tls://192.0.2.1:4222", "192.0.2.1 localhost 127.0.0.1 ::1", hostname()},
		{Config{Listen: "0.0.0.0:4222"}, "tls://" + hostname() + ":4222", "localhost 127.0.0.1 ::1", hostname()},
		{Config{Listen: "[::]:4222"}, "tls://" + hostname() + ":4222", "localhost 127.0.0.1 ::1", hostname()},
		{Config{Listen: ":4222"}, "tls://" + hostname() + ":4222", "localhost 127.0.0.1 ::1", hostname()},
		{Config{NATS: "tls://a,tls://b", Names: []string{"x"}}, "tls://a tls://b", "x localhost 127.0.0.1 ::1", "x"},
	} {
		h := &Hub{Config: c.c}
		if got := strings.Join(h.URLs(), " "); got != c.urls {
			t.Errorf("%+v: %s, want %s", c.c, got, c.urls)
		}
		if got := strings.Join(h.names(), " "); got != c.names || h.title() != c.title {
			t.Errorf("%+v: %s, %s, want %s", c.c, got, h.title(), c.names)
		}
	}
	for addr, want := range map[string]string{
		"0.0.0.0:1": "tls://127.0.0.1:1", "[::]:1": "tls://127.0.0.1:1", ":1": "tls://127.0.0.1:1", "192.0.2.1:1": "tls://192.0.2.1:1",
		"hub:1": "tls://hub:1", "[::1]:1": "tls://[::1]:1", "x": "",
	} {
		if got := loopbackOf(addr); got != want {
			t.Errorf("%s: %q, want %q", addr, got, want)
		}
	}
	if a, b := holder(), holder(); a == b || !strings.HasPrefix(a, hostname()+"-") {
		t.Errorf("two processes are called %s and %s", a, b)
	}
	for _, c := range []struct{ database, want string }{{"", "/x/hub.db"}, {"postgres://y", "postgres://y"}} {
		k := Known{Database: c.database}
		if got := k.Where("/x"); got != c.want {
			t.Errorf("%q: %s", c.database, got)
		}
	}
}

// TestKnown: what a hub writes for other verbs, and how agents and verbs trust it then.
func TestKnown(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadKnown(dir); err == nil || !strings.Contains(err.Error(), "no hub has served from this folder yet") {
		t.Error(err)
	}
	own := &Hub{Config: Config{Dir: dir, Listen: ":1", Names: []string{"hub"}, Database: "postgres://y"}}
	if err := own.writeKnown(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without an authority: %v", err)
	}
	if _, err := bus.OwnTLS(dir, []string{"hub"}); err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(dir, bus.CAFile)
	b, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	der, err := first(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		h       *Hub
		pin, ca bool
	}{
		{own, true, false},
		{&Hub{Config: Config{Dir: dir, NATS: "tls://a"}}, false, false},
		{&Hub{Config: Config{Dir: dir, NATS: "tls://a", CA: ca}}, false, true},
		{&Hub{Config: Config{Dir: dir, Listen: ":1", Cert: "x", CA: ca}}, false, true},
	} {
		if err := c.h.writeKnown(); err != nil {
			t.Fatal(err)
		}
		k, err := ReadKnown(dir)
		if err != nil || (k.Pin == join.Pin(der)) != c.pin || (k.Pin == "") == c.pin || bytes.Equal(k.CA, der) != c.ca ||
			!slices.Equal(k.URLs, c.h.URLs()) || k.Database != c.h.Database {
			t.Errorf("%+v: %+v, %v", c.h.Config, k, err)
		}
		conf, err := k.tls(dir)
		if err != nil || (conf != nil) != (c.pin || c.ca) || conf != nil && conf.RootCAs == nil {
			t.Errorf("%+v: %+v, %v", k, conf, err)
		}
	}
	if _, err := (&Known{CA: []byte("x")}).tls(dir); err == nil {
		t.Error("no certificate is one")
	}
	if _, err := (&Known{Pin: "x"}).tls(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	bad := filepath.Join(dir, "bad")
	for _, text := range []string{"", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		h := &Hub{Config: Config{Dir: dir, NATS: "tls://a", CA: bad}}
		if err := h.writeKnown(); err == nil || !strings.HasPrefix(err.Error(), bad+": ") {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := h.clusterTLS(); err == nil {
			t.Errorf("%q is an authority", text)
		}
	}
	if conf, err := (&Hub{}).clusterTLS(); conf != nil || err != nil {
		t.Errorf("%+v, %v", conf, err)
	}
	if err := os.WriteFile(filepath.Join(dir, knownFile), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKnown(dir); err == nil || !strings.HasPrefix(err.Error(), dir) {
		t.Error(err)
	}
}

// TestOpenDir: the state folder is its owner's alone, whatever it was before.
func TestOpenDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for _, mode := range []os.FileMode{0, 0o755, 0o710, 0o701, 0o700} {
		if mode != 0 {
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
		}
		err := OpenDir(dir)
		if st, serr := os.Stat(dir); err != nil || serr != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%v: %v, %v, %v", mode, st.Mode(), err, serr)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if OpenDir(file) == nil {
		t.Error("a file is a folder")
	}
}

// TestSaying: what stays so is said once in a while, what is new at once.
func TestSaying(t *testing.T) {
	var said []string
	var s saying
	say := func(text string) { s.say(func(t string) { said = append(said, t) }, text) }
	say("a")
	say("a")
	s.at = time.Now().Add(-4 * time.Minute)
	say("a")
	s.at = time.Now().Add(-6 * time.Minute)
	say("a")
	say("b")
	say("a")
	if got := strings.Join(said, " "); got != "a a b a" {
		t.Errorf("said %s", got)
	}
	h := &Hub{}
	if err := h.Storing(); err != nil {
		t.Error(err)
	}
	why := "full"
	if h.stuck.Store(&why); h.Storing() == nil {
		t.Error("a hub that is stuck stores")
	}
	if _, err := h.Queue(t.Context()); err == nil {
		t.Error("a stream that is not open has a queue")
	}
}

// backup is one of these files.
func backup(t *testing.T, files ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "backup")
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		kind := byte(tar.TypeReg)
		if strings.HasPrefix(f, "link:") {
			kind, f = tar.TypeSymlink, f[5:]
		}
		head := &tar.Header{Name: f, Linkname: "/etc/passwd", Typeflag: kind, Mode: 0o600}
		if kind == tar.TypeReg {
			head.Linkname, head.Size = "", 2
		}
		if err := w.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if kind == tar.TypeReg {
			fmt.Fprint(w, "{}")
		}
	}
	if err := errors.Join(w.Close(), z.Close(), os.WriteFile(name, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRestoreRefuses: what is no backup of a hub makes none, and leaves an empty folder; one that has
// something of a hub is not written to.
func TestRestoreRefuses(t *testing.T) {
	good := []string{DatabaseFile, knownFile}
	for _, c := range []struct {
		files []string
		why   string // empty: restored
	}{
		{good, ""}, {append(bus.Files(), good...), ""},
		{[]string{DatabaseFile}, "is no backup of fettle-hub"}, {nil, "is no backup of fettle-hub"},
		{append(good, "../x"), "is no file of a hub"}, {append(good, "x"), "is no file of a hub"},
		{append(good, "link:"+RevokedFile), "is no file of a hub"},
	} {
		dir := filepath.Join(t.TempDir(), "hub")
		err := Restore(dir, backup(t, c.files...), os.DevNull)
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%q: %v", c.files, err)
		}
		if left, _ := os.ReadDir(dir); err != nil && len(left) > 0 {
			t.Errorf("%q: %v is left", c.files, left)
		}
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{text, os.DevNull}, {text + "x", os.DevNull}, {backup(t, good...), text}, {backup(t, good...), text + "x"}} {
		if err := Restore(filepath.Join(t.TempDir(), "hub"), c[0], c[1]); err == nil {
			t.Errorf("restored %q", c)
		}
	}
	for _, name := range append(hubFiles(), bus.Folder) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Restore(dir, backup(t, good...), os.DevNull); err == nil || !strings.Contains(err.Error(), name+" of another hub") {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != "mine" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// spoilt is a state folder in which a name is a folder: reading it as a file fails.
func spoilt(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(dir, name, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestStartFails: what a hub cannot start with is said, and it holds nothing afterwards.
func TestStartFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	linked := t.TempDir()
	if err := os.Symlink(file, filepath.Join(linked, lockFile)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		c    Config
		want string
	}{
		{"a file for a folder", Config{Dir: file}, "not a directory"}, {"a lock that leads elsewhere", Config{Dir: linked},
			"too many levels of symbolic links"},
		{"keys", Config{Dir: spoilt(t, bus.Files()[0])}, "is a directory"}, {"a database", Config{Dir: spoilt(t, DatabaseFile)},
			"the database: unable to open database file"},
		{"another's authority", Config{Dir: t.TempDir(), NATS: "tls://127.0.0.1:1", CA: file}, "no certificate in it"},
		{"another's server", Config{Dir: t.TempDir(), NATS: "tls://127.0.0.1:1"}, "127.0.0.1:1"},
		{"a certificate", Config{Dir: t.TempDir(), Cert: file, Key: file, Listen: "127.0.0.1:0"}, file},
		{"an address", Config{Dir: t.TempDir(), Listen: "192.0.2.1:1"}, "192.0.2.1"},
		{"what it writes for other verbs", Config{Dir: spoilt(t, knownFile), Listen: "127.0.0.1:0"}, knownFile},
	} {
		c.c.Log = func(string) {}
		h, err := Start(t.Context(), c.c)
		if err == nil {
			h.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if c.c.Dir == file || c.c.Dir == linked {
			continue
		}
		lock, err := alone(c.c.Dir)
		if err != nil {
			t.Errorf("%s: still locked: %v", c.name, err)
			continue
		}
		lock.Close()
	}
}

// TestVerbsFail: of a folder that cannot be read, no verb makes anything.
func TestVerbsFail(t *testing.T) {
	keyless, good, db := spoilt(t, bus.Files()[0]), t.TempDir(), storetest.SQLite(t)
	if _, err := bus.LoadKeys(good); err != nil {
		t.Fatal(err)
	}
	closed := storetest.SQLite(t)
	closed.Close()
	host := &store.Host{Agent: "web1"}
	out := filepath.Join(t.TempDir(), "backup")
	for name, do := range map[string]func() error{
		"known":            func() error { _, err := ReadKnown(spoilt(t, knownFile)); return err },
		"invite":           func() error { _, err := Invite(t.Context(), keyless, Known{}, db, Inviting{}); return err },
		"invite, database": func() error { _, err := Invite(t.Context(), good, Known{}, closed, Inviting{}); return err },
		"rekey":            func() error { _, err := Rekey(t.Context(), keyless, Known{}, db, host, time.Hour); return err },
		"rekey, nobody":    func() error { _, err := Rekey(t.Context(), good, Known{}, closed, host, time.Hour); return err },
		"rekey, list": func() error {
			_, err := Rekey(t.Context(), both(t, RevokedFile), Known{}, db, host, time.Hour)
			return err
		},
		"ask":            func() error { _, err := Ask(keyless, Known{}, []string{""}, false, time.Hour); return err },
		"ask, authority": func() error { _, err := Ask(good, Known{CA: []byte("x")}, []string{""}, false, time.Hour); return err },
		"ask, nobody there": func() error {
			_, err := Ask(good, Known{Local: "tls://127.0.0.1:1"}, []string{""}, false,
				time.Hour)
			return err
		},
		"backup, folder":         func() error { return Backup(t.Context(), good, Known{}, filepath.Join(out, "x", "y")) },
		"backup, list":           func() error { return Backup(t.Context(), both(t, RevokedFile), Known{Database: "postgres://x"}, out) },
		"backup, database":       func() error { return Backup(t.Context(), both(t, DatabaseFile), Known{}, out) },
		"remember, database":     func() error { return Remember(t.Context(), t.TempDir(), closed) },
		"recall, database":       func() error { return recall(t.Context(), t.TempDir(), closed) },
		"restore into a file":    func() error { return Restore(out+"/x/y", backup(t, DatabaseFile, knownFile), os.DevNull) },
		"restore without a list": func() error { return Restore(t.TempDir(), backup(t, DatabaseFile, knownFile), "") },
	} {
		if name == "restore into a file" {
			if err := os.WriteFile(out, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := do(); err == nil {
			t.Errorf("%s: no error", name)
		}
		os.Remove(out)
	}
}

// both is a folder with keys in which a name is a folder, too.
func both(t *testing.T, name string) string {
	dir := spoilt(t, name)
	if _, err := bus.LoadKeys(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
