package park

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle/internal/means"
)

var (
	binary = flag.String("fettle", "", "the fettle that is tried, an absolute path")
	table  = flag.String("table", "", "write the table of hosts to this file")
	only   = flag.String("hosts", "", "try these hosts alone, with commas between them")
	keep   = flag.String("keep", "", "keep what the hosts answered in this folder")
	again  = flag.String("again", "", "boot nothing: judge anew what hosts answered, kept in this folder")
)

// TestPark tries fettle on every host of the park.
func TestPark(t *testing.T) {
	if os.Getenv("FETTLE_LONG") == "" || *binary == "" {
		means.Left(t, "the park takes long: make park runs it")
	}
	means.Root(t)
	for _, tool := range []string{"mmdebstrap", "systemd-nspawn", "mke2fs", "debugfs", "linux.uml"} {
		means.Tool(t, tool)
	}
	im := images(t)
	recipes, err := Recipes(os.DirFS("hosts"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	for _, r := range recipes {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), r.Name) {
			continue
		}
		for _, way := range r.Boots {
			t.Run(r.Name+"/"+way, func(t *testing.T) { rows = append(rows, visit(t, im, r, way)...) })
		}
	}
	if *table != "" {
		if err := os.WriteFile(*table, []byte(Table(rows)), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// images are those in the user's cache folder.
func images(t *testing.T) Images {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	im := Images{Dir: filepath.Join(cache, "fettle", "park")}
	if err := os.MkdirAll(im.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sweep)
	return im
}

// visitWith boots a host as a container, with a script in the place of ask, until it is switched
// off, and returns the folder of answers.
func visitWith(t *testing.T, im Images, r Recipe, name, script string) string {
	t.Helper()
	layers, err := im.Layer(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	dir := runFolder(t, im, name)
	up := filepath.Join(dir, "up")
	if err := os.Mkdir(up, 0o755); err != nil {
		t.Fatal(err)
	}
	root, unmount, err := overlay(up, layers...)
	if err != nil {
		t.Fatal(err)
	}
	defer unmount()
	err = prepare(root, r, *binary)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "usr/local/lib/park/ask"), []byte(script), 0o755)
	}
	for again := true; again && err == nil; {
		err = container(t.Context(), root, r, dir)
		var ended *exec.ExitError
		if again = errors.As(err, &ended) && ended.ExitCode() == 133; again { // systemd-nspawn(1): it restarts
			err = nil
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(up, answers)
}

// visit boots a host in one way and judges every look at it.
func visit(t *testing.T, im Images, r Recipe, way string) []Row {
	if *again != "" {
		return judge(t, r, way, filepath.Join(*again, r.Name+"-"+way))
	}
	layers, err := im.Layer(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	dir := runFolder(t, im, r.Name+"-"+way)
	got, err := Boot(t.Context(), way, r, layers, *binary, dir)
	if err != nil {
		t.Fatal(err)
	}
	if *keep != "" {
		to := filepath.Join(*keep, r.Name+"-"+way)
		os.RemoveAll(to)
		if out, err := exec.Command("cp", "-a", got, to).CombinedOutput(); err != nil {
			t.Logf("keeping the answers: %v: %s", err, out)
		}
	}
	if b, err := os.ReadFile(filepath.Join(got, "begin.status")); err != nil || strings.TrimSpace(string(b)) != "0" {
		log, _ := os.ReadFile(filepath.Join(got, "begin.log"))
		t.Errorf("the host's begin script failed: %s\n%s", b, lastLines(string(log), 10))
	}
	return judge(t, r, way, got)
}

func judge(t *testing.T, r Recipe, way, got string) []Row {
	own, common, err := Expectations(os.DirFS("expected"), r.Name)
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	look := func(name, file string) []Outcome {
		all, err := read(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return nil
		}
		if err := Judge(name, all, own, common); err != nil {
			t.Errorf("%s:\n%v", name, err)
		}
		if err := Mild(all); r.Fresh && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		rows = append(rows, row(r.Name, name, all))
		return all
	}
	live := look(way, filepath.Join(got, "live.json"))
	if screen, err := os.ReadFile(filepath.Join(got, "screen.txt")); err == nil && len(rows) > 0 {
		rows[0].Lines = bytes.Count(screen, []byte("\n"))
		if most := r.screen(); rows[0].Lines > most {
			t.Errorf("fettle check prints %d lines, more than %d", rows[0].Lines, most)
		}
	}
	if r.Inside != "" {
		look("inside", filepath.Join(got, "inside.json"))
	}
	replay, err := read(from(t, filepath.Join(got, "host.tar.zst")))
	if err == nil {
		err = Same(live, replay)
	}
	if err != nil {
		t.Errorf("capture: %v", err)
	}
	redacted, err := read(from(t, filepath.Join(got, "redacted.tar.zst")))
	if err == nil {
		err = SameRedacted(live, redacted)
	}
	if err != nil {
		t.Errorf("redacted capture: %v", err)
	}
	matches, err := whyOf(t, filepath.Join(got, "journal.txt"))
	if err == nil {
		err = Quiet(way, matches, own)
	}
	if err != nil {
		t.Error(err)
	}
	reports, _ := filepath.Glob(filepath.Join(got, "sos", "sosreport-*"))
	for _, dir := range reports {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			continue
		}
		look("sosreport", from(t, dir))
		old := filepath.Join(t.TempDir(), "sos")
		if out, err := exec.Command("cp", "-a", dir, old).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if err := AsSOS3(old); err != nil {
			t.Error(err)
		}
		look("sosreport-3", from(t, old))
	}
	if way == "container" && len(reports) == 0 {
		t.Error("sos left no report")
	}
	return rows
}

// from has fettle check a capture or a sosreport; it returns its JSON's file.
func from(t *testing.T, what string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.Command(*binary, "check", "--from", what, "--format", "json", "-o", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Run() // its status tells of findings, too
	if stderr.Len() > 0 {
		t.Logf("check --from: %s", lastLines(stderr.String(), 3))
	}
	return file
}

// whyOf has fettle why read a whole journal.
func whyOf(t *testing.T, journal string) ([]Match, error) {
	f, err := os.Open(journal)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file := filepath.Join(t.TempDir(), "why.json")
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(*binary, "why", "--no-check", "--format", "json")
	cmd.Stdin, cmd.Stdout = f, out
	cmd.Run() // its status tells of matches, too
	var d struct {
		Matches []Match `json:"matches"`
	}
	return d.Matches, readJSON(file, &d)
}

// runFolder is a folder for one run, beside the images: overlays want their
// upper folder on a disk.
func runFolder(t *testing.T, im Images, name string) string {
	t.Helper()
	dir := filepath.Join(im.Dir, "run-"+name)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
