package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle/lab"
)

// TestActs: each kind of act does what it says, or says why it did not.
func TestActs(t *testing.T) {
	dir := t.TempDir()
	d := &daemons{}
	for _, c := range []struct {
		act  lab.Act
		fail string
	}{
		{lab.Act{}, ""},
		{lab.Act{Run: []string{"true"}}, ""},
		{lab.Act{Run: []string{"sh", "-c", "echo first; echo last; exit 3"}}, "sh -c echo first; echo last; exit 3: exit status 3: last"},
		{lab.Act{Run: []string{"/nonexistent", "x"}}, "/nonexistent x: "},
		{lab.Act{Start: []string{"no-such-program"}}, "no-such-program"},
		{lab.Act{Start: []string{"/nonexistent"}}, "/nonexistent"},
		{lab.Act{Write: &lab.File{Path: dir + "/a/b/plain", Content: "x"}}, ""},
		{lab.Act{Write: &lab.File{Path: dir + "/a/secret", Content: "y", Mode: 0o600}}, ""},
		{lab.Act{Write: &lab.File{Path: dir + "/a/secret/below", Content: "y"}}, "not a directory"},
		{lab.Act{Holds: &lab.File{Path: dir + "/a/b/plain", Content: "x"}}, ""},
		{lab.Act{Holds: &lab.File{Path: dir + "/a/b/plain", Content: "z"}}, `holds "x", and should hold "z"`},
		{lab.Act{Holds: &lab.File{Path: dir + "/none", Content: "z"}}, "no such file"},
		{lab.Act{Until: []string{"true"}}, ""},
	} {
		if err := d.act(c.act); (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%+v: %v, want %s", c.act, err, c.fail)
		}
	}
	for name, mode := range map[string]os.FileMode{"a/b/plain": 0o644, "a/secret": 0o600} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	for in, want := range map[string]string{"": "", "one": "one", "one\ntwo\n\n": "two", "\n": ""} {
		if got := lastLine(in); got != want {
			t.Errorf("%q: last line %q", in, got)
		}
	}
}

// TestHoldDeleted: a deleted file of that size stays open.
func TestHoldDeleted(t *testing.T) {
	for _, size := range []int64{1, 1 << 20, 1<<20 + 5} {
		name := filepath.Join(t.TempDir(), "new", "file")
		if err := holdDeleted(&lab.Held{Path: name, Bytes: size}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it is still there: %v", err)
		}
		held := 0
		fds, _ := filepath.Glob("/proc/[0-9]*/fd/1")
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err != nil || to != name+" (deleted)" {
				continue
			}
			held++
			if st, err := os.Stat(fd); err != nil || st.Size() != size {
				t.Errorf("%d bytes are held, want %d: %v", st.Size(), size, err)
			}
			pid, _ := strconv.Atoi(strings.Split(fd, "/")[2])
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if held != 1 {
			t.Errorf("%d processes hold it", held)
		}
	}
	if err := holdDeleted(&lab.Held{Path: "/dev/null/x/y", Bytes: 1}); err == nil {
		t.Error("a file below no folder")
	}
	if err := holdDeleted(&lab.Held{Path: t.TempDir(), Bytes: 1}); err == nil {
		t.Error("a folder")
	}
}

// TestExpect: how a command ended is compared, again and again as long as there is time.
func TestExpect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "count")
	count := []string{"sh", "-c", "echo x >> " + file + "; wc -l < " + file}
	for _, c := range []struct {
		e          lab.Expect
		said, fail string
	}{
		{lab.Expect{Run: []string{"echo", "well done"}, Has: "done", Lacks: "bad"}, "well done", ""},
		{lab.Expect{Run: []string{"echo", "bad"}, Has: "good"}, "bad", `echo bad: expected to print "good"`},
		{lab.Expect{Run: []string{"echo", "bad"}, Lacks: "bad"}, "bad", `expected not to print "bad"`},
		{lab.Expect{Run: []string{"sh", "-c", "exit 3"}}, "", "exit status 3, expected 0"},
		{lab.Expect{Run: []string{"sh", "-c", "exit 3"}, Status: 3}, "", ""},
		{lab.Expect{Run: []string{"sh", "-c", "kill -9 $$"}, Status: -1}, "", ""},
		{lab.Expect{Run: []string{"/nonexistent"}}, "", "/nonexistent: "},
		{lab.Expect{Run: []string{"echo", `{"result":"mended"}`}, Result: "mended"}, `{"result":"mended"}`, ""},
		{lab.Expect{Run: []string{"echo", `{"result":"failed"}`}, Result: "mended"}, `{"result":"failed"}`, `result "failed", expected "mended"`},
		{lab.Expect{Run: count, Has: "2", Within: time.Minute}, "2", ""},
	} {
		said, err := expect(&c.e)
		if said != c.said || (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%+v: %q, %v, want %q, %s", c.e, said, err, c.said, c.fail)
		}
	}
	// A check that could not look is asked again, twice.
	os.Remove(file)
	e := lab.Expect{Run: []string{"sh", "-c", "echo x >> " + file + "; exit 4"}, Outcomes: map[string]string{"*": "found"}}
	if _, err := expect(&e); err == nil {
		t.Error("unknown passes for found")
	}
	if b, _ := os.ReadFile(file); len(b) != 6 {
		t.Errorf("asked %d times, want 3", len(b)/2)
	}
}

// TestSteps: a story that goes its own way is told step by step, from the act on that a restart left to do.
func TestSteps(t *testing.T) {
	write := func(name string) lab.Act { return lab.Act{Write: &lab.File{Path: name, Content: "x"}} }
	echo := func(words string) lab.Act {
		return lab.Act{Expect: &lab.Expect{Run: []string{"echo", words}}}
	}
	story := []lab.Step{
		{Name: "one", Acts: []lab.Act{write("a"), write("b")}}, {Name: "two", Acts: []lab.Act{write("c"), echo("seen"), write("d")}},
		{Name: "none"}, {Name: "three", Acts: []lab.Act{echo("the end")}},
	}
	for first, want := range map[int]string{
		0: "a b c d|one true , two true seen, none true , three true the end", 2: "c d|two true seen, none true , three true the end",
		1: "b c d|one true , two true seen, none true , three true the end", 4: "d|two true , none true , three true the end",
		5: "|three true the end",
	} {
		l := &liar{}
		var wrote []string
		p := &player{orders: lab.Orders{Scenario: lab.Scenario{Steps: story}}, host: l, ended: func() string { return "" },
			act: func(a lab.Act) error { wrote = append(wrote, a.Write.Path); return nil }}
		p.steps(first)
		var told []string
		for _, s := range l.stages {
			told = append(told, fmt.Sprint(s.Name, " ", s.OK, " ", s.Said))
		}
		if got := strings.Join(wrote, " ") + "|" + strings.Join(told, ", "); got != want {
			t.Errorf("from %d: %s, want %s", first, got, want)
		}
	}
	failing := map[string]lab.Act{
		"it cannot": {Write: &lab.File{}}, "exit status 1": {Expect: &lab.Expect{Run: []string{"false"}}},
		"a machine without systemd cannot be started again": {Restart: "odd"},
	}
	for want, act := range failing {
		l := &liar{}
		p := &player{orders: lab.Orders{Scenario: lab.Scenario{Steps: []lab.Step{{Name: "bad", Acts: []lab.Act{act}}, {Name: "never"}}}}, host: l,
			ended: func() string { return "" }, act: func(lab.Act) error { return errors.New("it cannot") }}
		p.steps(0)
		if last := l.stages[len(l.stages)-1]; last.Name != "bad" || last.OK || !strings.Contains(last.Said, want) {
			t.Errorf("%+v, want %s", last, want)
		}
	}
}
