package keypath

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"fettle/cli/app/apptest"
	"fettle/internal/means"
	"fettle/internal/ui"
)

// wot is a web of trust that a test makes.
type wot struct {
	t    *testing.T
	keys map[string]*openpgp.Entity
}

func day(n int) time.Time { return time.Date(2024, 1, 1+n, 0, 0, 0, 0, time.UTC) }

func config(at time.Time, lasts time.Duration) *packet.Config {
	return &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return at }, SigLifetimeSecs: uint32(lasts.Seconds())}
}

// key makes a key of the first day, and a second name where more is not "".
func (w *wot) key(name, more string) {
	w.t.Helper()
	e, err := openpgp.NewEntity(name, "", name+"@example.org", config(day(0), 0))
	if err == nil && more != "" {
		err = e.AddUserId(more, "", more+"@example.net", config(day(0), 0))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.keys[name] = e
}

// sign has one key sign another's name, so many days on, for so many days (0: for ever).
func (w *wot) sign(by, key, name string, on, lasts int) {
	w.t.Helper()
	domain := "example.org"
	if name != key {
		domain = "example.net"
	}
	c := config(day(on), time.Duration(lasts)*24*time.Hour)
	if err := w.keys[key].SignIdentity(fmt.Sprintf("%s <%s@%s>", name, name, domain), w.keys[by], c); err != nil {
		w.t.Fatal(by, key, name, err)
	}
}

func (w *wot) save(file string, names ...string) {
	w.t.Helper()
	var b bytes.Buffer
	for _, n := range names {
		if err := w.keys[n].Serialize(&b); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, b.Bytes(), 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// call is the verb as a program has it.
func call(ctx context.Context, args []string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	wrong, failed := errors.New("wrong"), errors.New("failed")
	as := func(kind error) func(string, ...any) error {
		return func(format string, args ...any) error {
			return fmt.Errorf("%w%w", fmt.Errorf(format, args...), quiet{kind})
		}
	}
	c := New(Given{Stdout: &stdout, Stderr: &stderr, Usagef: as(wrong), Failf: as(failed)})
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetArgs(args)
	err := c.ExecuteContext(ctx)
	switch {
	case errors.Is(err, failed):
		code = 3
	case err != nil:
		code = 2
	}
	if err != nil {
		fmt.Fprintln(&stderr, err)
	}
	return code, stdout.String(), stderr.String()
}

// quiet is an error without words.
type quiet struct{ error }

func (quiet) Error() string   { return "" }
func (q quiet) Unwrap() error { return q.error }

// TestSession: what is said of a web in which all is known: two ways from ann to dan, of which the shorter one is over bob's second
// name, gil's only signature no longer counts, fay has none, and there are eleven sams.
func TestSession(t *testing.T) {
	w := &wot{t, map[string]*openpgp.Entity{}}
	for _, n := range []string{"ann", "col", "dan", "eve", "fay", "gil", "hal"} {
		w.key(n, "")
	}
	w.key("bob", "robert")
	w.sign("ann", "bob", "robert", 1, 0)
	w.sign("bob", "dan", "dan", 2, 30000)
	w.sign("ann", "col", "col", 3, 0)
	w.sign("col", "eve", "eve", 4, 0)
	w.sign("eve", "dan", "dan", 5, 0)
	w.sign("dan", "gil", "gil", 6, 10)
	w.sign("gil", "hal", "hal", 7, 10)
	w.sign("dan", "ann", "ann", 8, 0)
	var sams []string
	for i := range 11 {
		w.key("sam", "")
		sams = append(sams, fmt.Sprint("sam", i))
		w.keys[sams[i]] = w.keys["sam"]
	}
	dir := t.TempDir()
	known := []string{"ann", "bob", "col", "dan", "eve", "fay", "gil", "hal"}
	w.save(dir+"/all.gpg", known...)
	w.save(dir+"/sams.gpg", sams...)
	w.save(dir+"/ten.gpg", sams[:10]...)
	w.save(dir+"/ring.gpg", "ann", "bob", "dan")
	w.save(dir+"/dan.gpg", "dan")
	w.save(dir+"/two.gpg", "col", "eve")
	w.save(dir+"/home/.gnupg/pubring.gpg", "ann", "bob")
	w.save(dir+"/gnupg/pubring.kbx.gpg", "ann")
	w.save(dir+"/gnupg/public-keys.d/pubring.db", "ann")
	w.save(dir+"/shared/key", "ann")
	if err := os.Chmod(dir+"/shared", 0o720); err != nil {
		t.Fatal(err)
	}
	names := []string{dir, "/DIR"}
	for _, n := range slices.Concat(known, sams) {
		as := strings.TrimRight(n, "0123456789")
		fingerprint := fmt.Sprintf("%X", w.keys[n].PrimaryKey.Fingerprint)
		names = append(names, fingerprint, "FINGERPRINT-"+as, fmt.Sprintf("%016X", w.keys[n].PrimaryKey.KeyId), "ID-"+as)
	}
	anyKey := strings.NewReplacer(names...)
	t.Setenv("HOME", dir+"/home")
	t.Setenv("GNUPGHOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("COLUMNS", "90")
	session, err := filepath.Abs("testdata/session.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	apptest.Session(t, session, func(ctx context.Context, args []string) (int, string, string) {
		for strings.Contains(args[0], "=") { // for this command and those after it
			name, value, _ := strings.Cut(args[0], "=")
			t.Setenv(name, strings.Replace(value, "DIR", dir, 1))
			args = args[1:]
		}
		if args[0] == "cat" {
			b, err := os.ReadFile(args[1])
			if err != nil {
				return 1, "", "absent\n"
			}
			return 0, anyKey.Replace(string(b)), ""
		}
		code, out, errs := call(ctx, args[1:])
		return code, anyKey.Replace(out), anyKey.Replace(errs)
	})
}

// TestProgress: what takes longer than a second is told on a terminal, five times a second at most.
func TestProgress(t *testing.T) {
	master, tty := means.OpenTerminal(t)
	synctest.Test(t, func(t *testing.T) {
		p := progress{line: ui.NewProgress(tty), what: "reading"}
		for _, at := range []struct {
			after time.Duration
			done  int64
		}{{0, 1}, {999 * time.Millisecond, 2}, {time.Millisecond, 3}, {199 * time.Millisecond, 4}, {time.Millisecond, 5}, {time.Second, 6}} {
			time.Sleep(at.after)
			p.to(at.done, 10)
		}
		time.Sleep(time.Second)
		p.to(7, 0)
		p.end()
	})
	got := means.ShownSoFar(t, master, tty)
	for _, percent := range []string{"10", "20", "30", "40", "50", "60", "70"} {
		if want := percent == "30" || percent == "50" || percent == "60"; strings.Contains(got, "reading: "+percent+" %") != want {
			t.Errorf("%s %% is shown: %v\n%q", percent, !want, got)
		}
	}
	line, tty2 := means.OpenTerminal(t)
	(&progress{line: ui.NewProgress(tty2)}).end()
	if got := means.ShownSoFar(t, line, tty2); got != "" {
		t.Errorf("nothing took long, and %q is shown", got)
	}
}

// TestRim: who signed both ends is asked for first, then signers of TO and of FROM by halves, each once.
func TestRim(t *testing.T) {
	w := &wot{t, map[string]*openpgp.Entity{}}
	of := map[string]string{}
	w.key("ann", "")
	w.key("dan", "")
	for i := range 28 {
		n := fmt.Sprintf("k%d", i)
		w.key(n, "")
		ends, kind := []string{"ann", "dan"}, "both"
		switch {
		case i >= 16:
			ends, kind = ends[:1], "home"
		case i >= 4:
			ends, kind = ends[1:], "target"
		}
		for _, end := range ends {
			w.sign(n, end, end, 1, 0)
		}
		of[fmt.Sprintf("%016X", w.keys[n].PrimaryKey.KeyId)] = kind
	}
	file := filepath.Join(t.TempDir(), "keys.gpg")
	w.save(file, "ann", "dan")
	v := &verb{Given: Given{Usagef: fmt.Errorf, Failf: fmt.Errorf, Stderr: new(bytes.Buffer)}, ctx: t.Context()}
	v.keyrings, v.cache, v.longest = []string{file}, t.TempDir(), 5
	web, files, err := v.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	ask, err := v.question(web, []string{"ann", "dan"}, files)
	if err != nil {
		t.Fatal(err)
	}
	r := newRim()
	for round, want := range []string{"both 4, target 6, home 6, target 0", "both 0, target 6, home 6, target 0",
		"both 0, target 0, home 0, target 0"} {
		counts, last := []int{0, 0, 0, 0}, 0
		for _, id := range r.next(web, ask.Query, 16) {
			kind := of[fmt.Sprintf("%016X", id)]
			for last < 3 && []string{"both", "target", "home", "target"}[last] != kind {
				last++
			}
			counts[last]++
		}
		if got := fmt.Sprintf("both %d, target %d, home %d, target %d", counts[0], counts[1], counts[2], counts[3]); got != want {
			t.Errorf("round %d: %s; want %s", round+1, got, want)
		}
	}

	if ids := newRim().next(web, ask.Query, 3); len(ids) != 3 {
		t.Errorf("%d ids of 3", len(ids))
	}
}

// TestQuestionsAllowed: keyservers are asked as often as is allowed and needed, which is said; where none answers, that too.
func TestQuestionsAllowed(t *testing.T) {
	k := ring(t, "alice", "bob", "carol", "dave")
	url, asked := keyserver(t, k, ring(t, "decoy"))
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 500) }))
	t.Cleanup(broken.Close)
	alice, dave := keep(t, k["alice"]), keep(t, k["dave"])
	for _, c := range []struct {
		server, fetch string
		code, asked   int
		says          string
	}{
		{url, "2", 0, 2, " (2 more questions allowed)\n"}, {url, "1", 2, 1, " (1 more questions allowed)\n"},
		{broken.URL, "5", 3, 0, "no keyserver answers: "}, {"ftp://keys.test", "5", 2, 0, "--keyserver: "},
	} {
		*asked = nil
		code, out, errs := call(t.Context(), []string{"--cache", t.TempDir(), "--keyring", alice, "--keyring", dave, "--network", "--keyserver",
			c.server, "--fetch", c.fetch, "alice", "dave"})
		if code != c.code || len(*asked) != c.asked || !strings.Contains(errs, c.says) {
			t.Errorf("%s, %s questions: status %d, asked %q\n%s%s", c.server, c.fetch, code, *asked, out, errs)
		}
	}
}
