package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// answers is a source of which only two answers are used.
type answers struct {
	Source
	read func(ctx context.Context) ([]byte, error)
	dir  []Entry
}

func (a answers) ReadFile(ctx context.Context, _ string, _ int64) ([]byte, error) { return a.read(ctx) }
func (a answers) ReadDir(context.Context, string) ([]Entry, error)                { return a.dir, nil }

// The time of one check is not that of another who waits for the same answer.
func TestWhoWaitedAsksAgain(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	began := make(chan struct{}, 2)
	h := New(answers{read: func(ctx context.Context) ([]byte, error) {
		mu.Lock()
		asked++
		first := asked == 1
		mu.Unlock()
		if first {
			began <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return []byte("yes"), nil
	}})
	short, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := h.ReadFile(short, "/f")
		done <- err
	}()
	<-began
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if b, err := h.ReadFile(t.Context(), "/f"); string(b) != "yes" || err != nil {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
	time.Sleep(20 * time.Millisecond) // all four wait by now
	cancel()
	wg.Wait()
	if err := <-done; !errors.Is(err, context.Canceled) || asked != 2 {
		t.Errorf("%v; asked %d times", err, asked)
	}
}

func TestReadDirLeavesTheSourceAlone(t *testing.T) {
	src := answers{dir: []Entry{{Name: "b"}, {Name: "a"}}}
	es, err := New(src).ReadDir(t.Context(), "/d")
	if err != nil || es[0].Name != "a" || src.dir[0].Name != "b" {
		t.Errorf("%v %v; the source has %v", es, err, src.dir)
	}
}

// told is a source that answers each question, by its kind and subject, with a text, or with an error.
type told struct {
	Source
	texts map[string]string
	errs  map[string]error
	asked *[]string
}

func (s told) answer(question string) (string, error) {
	*s.asked = append(*s.asked, question)
	if err := s.errs[question]; err != nil {
		return "", err
	}
	text, ok := s.texts[question]
	if !ok {
		return "", ErrAbsent
	}
	return text, nil
}

func (s told) ReadFile(_ context.Context, name string, limit int64) ([]byte, error) {
	text, err := s.answer("file " + name)
	if err == nil && int64(len(text)) > limit {
		err = ErrTooBig
	}
	return []byte(text), err
}

func (s told) ReadDir(_ context.Context, name string) (es []Entry, err error) {
	text, err := s.answer("dir " + name)
	for n := range strings.FieldsSeq(text) {
		es = append(es, Entry{Name: n})
	}
	return es, err
}

func (s told) Stat(_ context.Context, name string, follow bool) (Info, error) {
	kind := "lstat "
	if follow {
		kind = "stat "
	}
	text, err := s.answer(kind + name)
	i := Info{Size: int64(len(text))}
	if text == "folder" {
		i.Mode = fs.ModeDir
	}
	return i, err
}

func (s told) Readlink(_ context.Context, name string) (string, error) {
	return s.answer("link " + name)
}

func (s told) Xattr(_ context.Context, name, attr string) ([]byte, error) {
	text, err := s.answer("xattr " + attr + " " + name)
	return []byte(text), err
}

func (s told) Table(_ context.Context, table Table) ([]byte, error) {
	text, err := s.answer("table " + string(table))
	return []byte(text), err
}

func (s told) Command(_ context.Context, c Command) (Output, error) {
	text, err := s.answer("command " + c.String())
	return Output{Stdout: []byte(text)}, err
}

func (s told) Name() string { return "box" }

func hostOf(texts map[string]string, errs map[string]error) (*Host, *[]string) {
	asked := new([]string)
	return New(told{texts: texts, errs: errs, asked: asked}), asked
}

// TestEachQuestionIsAskedOnce: a file, its folder, its own mode and that of what it leads to are different questions, and
// what one user may read says nothing of another; the same question is answered from memory.
func TestEachQuestionIsAskedOnce(t *testing.T) {
	h, asked := hostOf(map[string]string{"file /a": " text\n", "dir /a": "y x", "stat /a": "12", "lstat /a": "1", "link /a": "b",
		"xattr user.x /a": "v",
		"xattr user.y /a": "w", "table links": `[{"ifname":"eth0"}]`, "command dmesg": "out"}, nil)
	ctx := t.Context()
	for range 2 {
		for _, who := range []context.Context{ctx, As(ctx, 0), As(ctx, 7), As(ctx, 8)} {
			b, err1 := h.ReadFile(who, "/a")
			s, err2 := h.ReadString(who, "/a")
			es, err3 := h.ReadDir(who, "/a")
			st, err4 := h.Stat(who, "/a")
			lst, err5 := h.Lstat(who, "/a")
			to, err6 := h.Readlink(who, "/a")
			x, err7 := h.Xattr(who, "/a", "user.x")
			y, err8 := h.Xattr(who, "/a", "user.y")
			links, err9 := h.Links(who)
			out, err10 := h.Run(who, "dmesg")
			got := string(b) + "|" + s + "|" + es[0].Name + es[1].Name + "|" + to + string(x) + string(y) + links[0].Name + string(out.Stdout)
			if got != " text\n|text|xy|bvweth0out" || st.Size != 2 || lst.Size != 1 {
				t.Errorf("%q, stat %+v, lstat %+v", got, st, lst)
			}
			if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10); err != nil {
				t.Fatal(err)
			}
		}
	}
	n := map[string]int{}
	for _, q := range *asked {
		n[q]++
	}
	for q, times := range n {
		want := 3 // by fettle itself, by 7 and by 8
		if strings.HasPrefix(q, "table") || strings.HasPrefix(q, "command") {
			want = 1
		}
		if times != want {
			t.Errorf("%s: asked %d times, want %d", q, times, want)
		}
	}
}

func TestShortFiles(t *testing.T) {
	h, _ := hostOf(map[string]string{"stat /four": "1234", "file /four": "1234", "stat /five": "12345",
		"file /five": "12345", "stat /dir": "folder",
		"stat /gone": "1", "stat /grew": "1", "stat /shut": "1"},
		map[string]error{"file /grew": ErrTooBig, "file /shut": ErrDenied, "stat /hidden": ErrDenied})
	for name, c := range map[string]struct {
		want string
		err  error
	}{"/four": {"1234", nil}, "/five": {}, "/dir": {}, "/absent": {}, "/gone": {}, "/grew": {},
		"/shut": {"", ErrDenied}, "/hidden": {"", ErrDenied}} {
		if got, err := h.ReadShort(t.Context(), name, 4); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v, want %q, %v", name, got, err, c.want, c.err)
		}
	}
	for name, c := range map[string]struct {
		want bool
		err  error
	}{"/four": {true, nil}, "/absent": {false, nil}, "/hidden": {false, ErrDenied}} {
		if got, err := h.Exists(t.Context(), name); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s is there: %v, %v", name, got, err)
		}
	}
}

func TestGlob(t *testing.T) {
	h, _ := hostOf(map[string]string{"dir /d": "b.conf a.conf c.txt"}, map[string]error{"dir /shut": ErrDenied})
	for _, c := range []struct {
		dir, pattern, want string
		err                string
	}{{"/d", "*.conf", "/d/a.conf /d/b.conf", ""}, {"/d", "x*", "", ""}, {"/none", "*", "", ""}, {"/shut", "*", "", "permission denied"},
		{"/d", "[", "", "syntax error in pattern"}} {
		got, err := h.Glob(t.Context(), c.dir, c.pattern)
		if strings.Join(got, " ") != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s/%s: %v, %v", c.dir, c.pattern, got, err)
		}
	}
}

// TestWhatWasAskedInVain: an error names what was done to what, and an answer that cannot be read is no answer.
func TestWhatWasAskedInVain(t *testing.T) {
	questions := map[string]func(context.Context, *Host) (any, error){
		"table get http://a/":      func(ctx context.Context, h *Host) (any, error) { return h.Page(ctx, "http://a/") },
		"table dns host a":         func(ctx context.Context, h *Host) (any, error) { return h.Addresses(ctx, "a") },
		"table dns srv a":          func(ctx context.Context, h *Host) (any, error) { return h.Services(ctx, "a") },
		"table peer tls ldaps://a": func(ctx context.Context, h *Host) (any, error) { return h.Peer(ctx, PeerQuestion{URI: "ldaps://a"}) },
		"table routes6":            func(ctx context.Context, h *Host) (any, error) { return h.Routes6(ctx) },
		"table kernel /boot/x": func(ctx context.Context, h *Host) (any, error) {
			return Extract(ctx, h, "kernel", "/boot/../boot/x", func(io.Reader) (string, error) { return "", nil })
		},
	}
	for q, ask := range questions {
		subject := q[strings.LastIndexByte(q, ' ')+1:]
		h, _ := hostOf(nil, map[string]error{q: ErrNotCollected})
		var pe *fs.PathError
		if v, err := ask(t.Context(), h); !errors.Is(err, ErrNotCollected) || !errors.As(err, &pe) || pe.Path != subject {
			t.Errorf("%s: %+v, %v, want an error that names %s", q, v, err, subject)
		}
		h, _ = hostOf(map[string]string{q: "{not JSON"}, nil)
		var se *json.SyntaxError
		if v, err := ask(t.Context(), h); !errors.As(err, &se) {
			t.Errorf("%s, answered with nonsense: %+v, %v", q, v, err)
		}
		h, asked := hostOf(map[string]string{q: "null"}, nil)
		for range 2 {
			if v, err := ask(t.Context(), h); err != nil {
				t.Errorf("%s: %+v, %v", q, v, err)
			}
		}
		if !slices.Equal(*asked, []string{q}) {
			t.Errorf("%s: asked %q", q, *asked)
		}
	}
}

// TestWaitingIsTold: whoever waits for a table says so before, and that it is over after.
func TestWaitingIsTold(t *testing.T) {
	var order []string
	h, _ := hostOf(map[string]string{"table processes": "[]", "file /a": "x"}, nil)
	ctx := TellWaiting(t.Context(), func() func() {
		order = append(order, "waits")
		return func() { order = append(order, "over") }
	})
	h.ReadFile(ctx, "/a")
	if _, err := h.Processes(ctx); err != nil || !slices.Equal(order, []string{"waits", "over"}) {
		t.Errorf("%v, %v", order, err)
	}
}

// TestAPanicIsNoAnswer: whoever waits for an answer whose reader panicked gets an error.
func TestAPanicIsNoAnswer(t *testing.T) {
	h, _ := hostOf(nil, nil)
	ask := func() (int, error) { panic("oh") }
	func() {
		defer func() { recover() }()
		Memo(t.Context(), h, "x", ask)
	}()
	if v, err := Memo(t.Context(), h, "x", ask); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("%v, %v", v, err)
	}
}
