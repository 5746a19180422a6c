package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRecord(t *testing.T) {
	name := filepath.Join(t.TempDir(), "proofs.md")
	if err := os.WriteFile(name, []byte("# Proofs\n\nWritten by a program.\n\n"+recordHead+
		"| a/gone | proved |  | 1.0 | 7 | v1 | 6.1 |\n| a/old | proved |  | 2.5 | 3 | v1 | 6.1 |\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	jobs := []Job{job("a", "new"), job("a", "old"), job("b", "bad"), job("b", "broken")}
	r, err := ReadRecord(name)
	if err != nil {
		t.Fatal(err)
	}
	if last := r.Last(); last != 7 {
		t.Errorf("the last run is %d, want 7", last)
	}
	if p, ok := r.Of(&jobs[1]); !ok || p != (Played{"a/old", Proved, "", 2.5, 3, "v1", "6.1"}) {
		t.Errorf("a/old is %+v, %v", p, ok)
	}
	if got := names(r.Oldest(jobs, 2)); got != "a/new b/bad" {
		t.Errorf("of those that were never played %s come first", got)
	}
	r.Note(Outcome{Job: jobs[0], Verdict: Verdict{OK: true, Took: 1500 * time.Millisecond, Kernel: "6.12",
		Stages: []Stage{{Name: SlipsStage, OK: true, Said: "3, of which 1 change nothing"}}}}, 8)
	r.Note(Outcome{Job: jobs[2], Verdict: Verdict{Why: "fix: exit | status\n 4 " + strings.Repeat("x", 100)}}, 8)
	r.Note(Outcome{Job: jobs[3], Err: errors.New("no kernel")}, 8)
	r.Note(Outcome{Job: jobs[1], Err: fmt.Errorf("not built: %w", &MissingError{Tools: []string{"radvd"}})}, 8)
	if got := names(r.Oldest(jobs, 9)); got != "a/old a/new b/bad b/broken" {
		t.Errorf("by how long they have waited they are %s", got)
	}
	if err := r.Write(name, jobs); err != nil {
		t.Fatal(err)
	}
	again, err := ReadRecord(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{Proved, Proved, "fix: exit / status 4 " + strings.Repeat("x", 59), "no kernel"} {
		if p, ok := again.Of(&jobs[i]); !ok || p.Result != want {
			t.Errorf("%s: %q, want %q", jobs[i].Name(), p.Result, want)
		}
	}
	if p, _ := again.Of(&jobs[0]); p.Seconds != 1.5 || p.Run != 8 || p.Kernel != "6.12" || p.Slips != "3, of which 1 change nothing" {
		t.Errorf("a/new is %+v", p)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "a/gone") || !strings.HasPrefix(string(text), "# Proofs\n\nWritten by a program.\n") {
		t.Errorf("what was written:\n%s", text)
	}
}

func TestRecordThatIsNone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "proofs.md")
	if r, err := ReadRecord(name); err != nil || r.Last() != 0 {
		t.Errorf("one that is not there: %v", err)
	}
	if r, err := ReadRecord(filepath.Dir(name)); err == nil {
		t.Errorf("a folder: %+v", r)
	}
	for text, want := range map[string]string{
		"# Proofs\n": "holds no record",
		recordHead + "| a/b | proved |  | 1.0 | 3 | v1 |\n":                                                ":3: a row has 7 cells",
		recordHead + "| a/b | proved |  | 1.0 | 3 | v1 | 6 |\n| a/c | proved |  | fast | 3 | v1 | 6.1 |\n": `:4: strconv.ParseFloat: parsing "fast"`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRecord(name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func job(trap, scenario string) Job { return Job{Trap: trap, Scenario: Scenario{Name: scenario}} }

func names(jobs []Job) string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.Name())
	}
	return strings.Join(out, " ")
}
