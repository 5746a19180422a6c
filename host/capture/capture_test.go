package capture_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/capture"
	"fettle/host/hosttest"
	"fettle/internal/means"
	"fettle/traps"
)

// through writes what rec recorded to a file and opens it.
func through(t testing.TB, c *capture.Capture) *capture.Source {
	t.Helper()
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(t.TempDir(), "c.tar.zst")
	if err := os.WriteFile(p, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := capture.Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// all is every trap, made once: making them reads the rules' compiled forms.
var all = sync.OnceValue(traps.All)

func outcomes(t testing.TB, src host.Source, ts []*trap.Trap) string {
	var all []trap.Outcome
	trap.Run(t.Context(), host.New(src), ts, trap.Options{Parallel: 1}, func(r trap.Result) { all = append(all, r.Outcomes...) })
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestGoldenHosts: what a trap says of its golden hosts, it says of their
// captures, and of their redacted captures, but for the replaced names; and so
// does every trap of one host in each folder.
func TestGoldenHosts(t *testing.T) {
	hosts, folder := goldenHosts(t), ""
	for _, f := range hosts {
		ts := all()
		if dir := filepath.Dir(f); dir == folder {
			ts = trapOf(t, f)
		} else {
			folder = dir
		}
		t.Run(f, func(t *testing.T) { sameOutcomes(t, f, ts) })
	}
	own, _ := filepath.Glob("testdata/*.txtar")
	if len(own) == 0 {
		t.Fatal("no testdata")
	}
	for _, f := range own {
		t.Run(f, func(t *testing.T) { sameOutcomes(t, f, all()) })
	}
}

// TestGoldenHostsAllTraps: so it is for every trap and every golden host.
func TestGoldenHostsAllTraps(t *testing.T) {
	means.Long(t, "runs every trap over every golden host six times")
	for _, f := range goldenHosts(t) {
		t.Run(f, func(t *testing.T) { sameOutcomes(t, f, all()) })
	}
}

func goldenHosts(t *testing.T) []string {
	files, _ := filepath.Glob("../../traps/*/testdata/*.txtar")
	files = slices.DeleteFunc(files, func(f string) bool { // nobody captures a sosreport
		b, err := os.ReadFile(f)
		return err == nil && bytes.Contains(b, []byte("kind: sosreport\n"))
	})
	if len(files) == 0 {
		t.Fatal("no golden hosts")
	}
	return some(files)
}

// some of the hosts are enough between two edits (go test -short).
func some(files []string) []string {
	if !testing.Short() {
		return files
	}
	var out []string
	for i := 0; i < len(files); i += 8 {
		out = append(out, files[i])
	}
	return out
}

// trapOf is the trap in whose folder a golden host stands.
func trapOf(t *testing.T, golden string) []*trap.Trap {
	t.Helper()
	folder := filepath.Base(filepath.Dir(filepath.Dir(golden)))
	for _, tr := range all() {
		if strings.HasSuffix(strings.ReplaceAll(tr.ID(), "-", ""), folder) {
			return []*trap.Trap{tr}
		}
	}
	t.Fatalf("%s: no trap is called like its folder", golden)
	return nil
}

func sameOutcomes(t *testing.T, golden string, ts []*trap.Trap) {
	t.Parallel()
	src, _ := hosttest.Load(t, golden)
	rec := capture.NewRecorder(src)
	want := outcomes(t, rec, ts)
	if got := outcomes(t, through(t, rec.Capture()), ts); got != want {
		t.Errorf("over the capture:\n%s\nover the host:\n%s", got, want)
	}
	if strings.HasPrefix(golden, "../../traps/") {
		checkRedacted(t, rec.Capture(), want, ts)
	}
}

// TestEveryQuestion: a capture answers every kind of question, and with every
// kind of error, as the host did.
func TestEveryQuestion(t *testing.T) {
	files, _ := filepath.Glob("../../traps/*/testdata/*.txtar")
	own, _ := filepath.Glob("testdata/*.txtar")
	for _, f := range some(append(files, own...)) {
		t.Run(f, func(t *testing.T) {
			t.Parallel()
			src, _ := hosttest.Load(t, f)
			rec := capture.NewRecorder(src)
			want := outcomes(t, rec, []*trap.Trap{nosy})
			if got := outcomes(t, through(t, rec.Capture()), []*trap.Trap{nosy}); got != want {
				t.Errorf("over the capture:\n%s\nover the host:\n%s", got, want)
			}
		})
	}
}

// longAnswer is what nosy tells of an answer as it is, in bytes.
const longAnswer = 200

// nosy asks one question of every kind and reports every answer and error.
var nosy = &trap.Trap{
	Lore: "---\nid: nosy\ntitle: asks everything\n---\n",
	Check: func(ctx context.Context, h *host.Host, r *trap.Report) error {
		tell := func(q string, v any, err error) {
			answer := fmt.Sprint(v)
			if len(answer) > longAnswer { // what a finding says is masked, which takes long
				answer = fmt.Sprintf("%s ... %d bytes, SHA-256 %x", answer[:longAnswer], len(answer), sha256.Sum256([]byte(answer)))
			}
			r.Found(
				trap.Finding{
					Subject:  q,
					Severity: trap.Notice,
					Summary:  fmt.Sprintf("%s | %v | %s | absent %v", answer, err, host.Reason(err), host.IsAbsent(err)),
				},
			)
		}
		tell("host", []any{h.Running(), h.Name(), h.Now()}, nil)
		for _, p := range []string{"/etc/hosts", "/etc/shadow", "/etc/none", "/etc/secret", "/etc", "/etc/dir", "/proc/sys/x", "/etc/link",
			"/etc/hosts/sub"} {
			b, err := h.ReadString(ctx, p)
			tell("read "+p, b, err)
			i, err := h.Stat(ctx, p)
			tell("stat "+p, i, err)
			i, err = h.Lstat(ctx, p)
			tell("lstat "+p, i, err)
			es, err := h.ReadDir(ctx, p)
			tell("dir "+p, es, err)
			l, err := h.Readlink(ctx, p)
			tell("link "+p, l, err)
			x, err := h.Xattr(ctx, p, "system.posix_acl_access")
			tell("xattr "+p, x, err)
		}
		for _, a := range [][]string{{"show", "ssh.service"}, {"show", "a/b"}, {"cat", "denied"}} {
			o, err := h.Run(ctx, "systemctl", a...)
			tell("run "+strings.Join(a, " "), o, err)
		}
		ls, err := h.Links(ctx)
		tell("links", ls, err)
		rs, err := h.Routes6(ctx)
		tell("routes", rs, err)
		return nil
	},
}

// odd is a host whose answers are awkward.
type odd struct{ host.Source }

var oddErrors = []error{
	&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOTDIR},
	&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES},
	&fs.PathError{Op: "open", Path: "/x", Err: syscall.ELOOP},
	fmt.Errorf("asking: %w", &fs.PathError{Op: "open", Path: "/y", Err: host.ErrNetworkMount}),
	fmt.Errorf("%w (over 5s)", host.ErrTimeout),
	host.ErrAbsent, host.ErrNotCollected, context.DeadlineExceeded, errors.New("free text\xff"),
	errors.Join(host.ErrTooBig, host.ErrUnsupported),
}

func (odd) ReadFile(_ context.Context, p string, _ int64) ([]byte, error) {
	var i int
	if n, _ := fmt.Sscanf(p, "/err/%d", &i); n == 1 {
		return nil, oddErrors[i]
	}
	return []byte("content of " + p), nil
}
func (odd) ReadDir(context.Context, string) ([]host.Entry, error) {
	return []host.Entry{{Name: "odd\xff\x01name", Type: fs.ModeSymlink}}, nil
}

func TestOddAnswers(t *testing.T) {
	base, _, _ := hosttest.Parse(nil)
	rec := capture.NewRecorder(odd{base})
	names := []string{"/a\xff", "/A", "/a", "/" + strings.Repeat("n", 255), "/new\nline", "/back\\slash", "/c:d"}
	ctx := t.Context()
	for _, n := range names {
		rec.ReadFile(ctx, n, 100)
	}
	for i := range oddErrors {
		rec.ReadFile(ctx, fmt.Sprint("/err/", i), 100)
	}
	rec.ReadDir(ctx, "/odd")
	s := through(t, rec.Capture())
	for _, n := range names {
		if b, err := s.ReadFile(ctx, n, 1000); string(b) != "content of "+n {
			t.Errorf("%q: %q, %v", n, b, err)
		}
	}
	if _, err := s.ReadFile(ctx, "/a", 3); !errors.Is(err, host.ErrTooBig) {
		t.Errorf("over the limit: %v", err)
	}
	for i, want := range oddErrors {
		_, err := s.ReadFile(ctx, fmt.Sprint("/err/", i), 100)
		if err == nil {
			t.Fatalf("%v: no error", want)
		}
		var pe1, pe2 *fs.PathError
		if host.Reason(err) != host.Reason(want) || host.IsAbsent(err) != host.IsAbsent(want) || err.Error() != want.Error() ||
			errors.As(err, &pe1) != errors.As(want, &pe2) || pe1 != nil && pe1.Error() != pe2.Error() {
			t.Errorf("replayed %v (%s), was %v (%s)", err, host.Reason(err), want, host.Reason(want))
		}
	}
	es, err := s.ReadDir(ctx, "/odd")
	if want, _ := (odd{}).ReadDir(ctx, ""); !reflect.DeepEqual(es, want) {
		t.Errorf("odd names: %q, %v", es, err)
	}
	if _, err := s.ReadFile(ctx, "/never", 10); !errors.Is(err, host.ErrNotCollected) || host.IsAbsent(err) {
		t.Errorf("a question never asked: %v", err)
	}
}

// TestFolder reads an unpacked capture, and one that lost a member.
func TestFolder(t *testing.T) {
	src, _ := hosttest.Load(t, "testdata/house.txtar")
	rec := capture.NewRecorder(src)
	want := outcomes(t, rec, []*trap.Trap{nosy})
	dir := t.TempDir()
	f, _ := os.Create(dir + "/c")
	if err := rec.Capture().Write(f); err != nil {
		t.Fatal(err)
	}
	f.Close()
	means.Tool(t, "zstd")
	if out, err := exec.Command(means.Tool(t, "tar"), "--zstd", "-C", dir, "-xf", dir+"/c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(dir + "/root/etc/hosts")
	if err != nil || !strings.Contains(string(b), "localhost") {
		t.Errorf("root/etc/hosts: %q, %v", b, err)
	}
	s, err := capture.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := outcomes(t, s, []*trap.Trap{nosy}); got != want {
		t.Errorf("folder says\n%s\nhost said\n%s", got, want)
	}
	os.Remove(dir + "/root/etc/hosts")
	if _, err := s.ReadFile(t.Context(), "/etc/hosts", 100); err == nil || host.IsAbsent(err) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a lost member: %v", err)
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ manifest, want string }{
		"none":    {"", "not a capture"},
		"syntax":  {"{", "manifest.json: unexpected"},
		"foreign": {`{"format":"other"}`, `has the format "other"`},
		"newer":   {`{"format":"fettle-capture","version":99}`, "capture of version 99; this fettle reads up to 1"},
	} {
		dir := t.TempDir()
		if c.manifest != "" {
			os.WriteFile(dir+"/manifest.json", []byte(c.manifest), 0o600)
		}
		if _, err := capture.Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

// FuzzManifest: a manifest may say anything, nothing crashes.
func FuzzManifest(f *testing.F) {
	f.Add(
		[]byte(
			`{"format":"fettle-capture","version":1,"answers":[{"op":"read","path":"/a","member":"../../etc/passwd"},{"op":"stat","path":"/a"},` +
				`{"op":"link","path":{"base64":"/w=="}},{"op":"command","path":"systemctl","args":["show","x"]}]}`,
		),
	)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		os.WriteFile(dir+"/manifest.json", b, 0o600)
		s, err := capture.Open(t.Context(), dir)
		if err != nil {
			return
		}
		defer s.Close()
		ctx := t.Context()
		for _, a := range s.Manifest().Answers {
			p := string(a.Path)
			if b, err := s.ReadFile(ctx, p, 1<<20); err == nil && bytes.Contains(b, []byte("root:x:")) {
				t.Error("read out of the capture")
			}
			s.Stat(ctx, p, true)
			s.Stat(ctx, p, false)
			s.ReadDir(ctx, p)
			s.Readlink(ctx, p)
			s.Xattr(ctx, p, string(a.Attr))
			s.Table(ctx, host.Table(p))
		}
	})
}

// twice answers each reading differently, and the third in time no more.
type twice struct {
	host.Source
	n int
}

func (s *twice) ReadFile(context.Context, string, int64) ([]byte, error) {
	if s.n++; s.n > 2 {
		return nil, context.DeadlineExceeded
	}
	return fmt.Appendf(nil, "answer %d", s.n), nil
}

// TestLaterAnswerCounts: what a check was told last is what the capture has:
// its outcome came of that. That time ran out is no answer.
func TestLaterAnswerCounts(t *testing.T) {
	src := &twice{Source: hosttest.New(t, "").Source()}
	rec := capture.NewRecorder(src)
	for range 3 {
		rec.ReadFile(t.Context(), "/etc/x", 100)
	}
	b, err := through(t, rec.Capture()).ReadFile(t.Context(), "/etc/x", 100)
	if string(b) != "answer 2" {
		t.Errorf("kept %q, %v", b, err)
	}
}
