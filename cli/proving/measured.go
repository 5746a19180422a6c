package proving

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/shell"
	"fettle/lab"
	"fettle/tools/bisect"
)

// instrument is one of fettle's own that a hunt can read: --measure names it.
type instrument struct {
	name    string
	program string   // fettle or fettle-lab; "" needs neither
	argv    []string // what prints JSON; its own flags follow
	unit    string
	higher  bool // is better
	about   string
	// figure is read from what it prints.
	figure func([]byte) (float64, error)
}

var instruments = []instrument{
	{"blockcache", Name, []string{"measure", "blockcache", "--format", "json"}, "requests/s", true,
		"the last run's last quarter", lastRun},
	{"boot", "", []string{"cat", "/proc/uptime"}, "s", false,
		"until a command runs on the kernel of --boot", uptime},
	{"cachesim", Name, []string{"measure", "cachesim", "--format", "json"}, "% hits", true,
		"the last policy's, at its largest size", hits},
	{"counters", "fettle", []string{"measure", "counters", "--format", "json"}, "bit/s", true,
		"the first counter's mean", firstCounter},
	{"disks", "fettle", []string{"measure", "disks", "--format", "json"}, "ms", false,
		"mean wait of the slowest member", slowestMember},
	{"ksm", "fettle", []string{"measure", "ksm", "--format", "json"}, "bytes", true,
		"saved when the last run ends", savedBytes},
	{"login", "fettle", []string{"measure", "login", "--logins", "1", "--format", "json"}, "s", false,
		"how long one login takes", loginTime},
}

func instrumentNames() string {
	var names []string
	for _, i := range instruments {
		names = append(names, i.name)
	}
	return strings.Join(names, ", ")
}

// measureHelp lists the instruments.
func measureHelp() string {
	var lines []string
	for _, i := range instruments {
		better := "less is better"
		if i.higher {
			better = "more is better"
		}
		lines = append(lines, fmt.Sprintf("  %-10s  %s; %s, %s", i.name, i.about, i.unit, better))
	}
	return strings.Join(lines, "\n")
}

// measured is the command of --measure, and what its figure is.
func (f bisectFlags) measured() (string, *bisect.Figure, error) {
	words := strings.Fields(f.measure)
	i := slices.IndexFunc(instruments, func(i instrument) bool { return len(words) > 0 && i.name == words[0] })
	switch {
	case i < 0:
		return "", nil, app.Usagef("--measure %q: expected an instrument (%s), and its flags", f.measure, instrumentNames())
	case f.run != "" || f.match != "" || f.tests:
		return "", nil, app.Usagef("--measure replaces the command: leave out --run, --match and --tests")
	case instruments[i].name == "boot" && f.boot == "":
		return "", nil, app.Usagef("--measure boot times a kernel of the checkout: name it with --boot")
	}
	it := instruments[i]
	of := &bisect.Figure{Name: it.name, Unit: it.unit, Higher: it.higher}
	find, err := f.programs()
	if err != nil {
		return "", nil, err
	}
	argv := slices.Concat(it.argv, words[1:])
	if it.program != "" {
		argv = slices.Insert(argv, 0, find(it.program))
	}
	return shell.Join(argv) + " | " + shell.Join([]string{find(Name), figureVerb, it.name}), of, nil
}

// programs says where fettle and fettle-lab are for a run: beside this program, on
// the PATH of hosts, in a guest where guests have them.
func (f bisectFlags) programs() (func(name string) string, error) {
	switch {
	case f.boot != "":
		return func(name string) string { return map[string]string{Name: "/init", "fettle": lab.GuestFettle}[name] }, nil
	case len(f.hosts) > 0:
		return func(name string) string { return name }, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, app.Failf("finding fettle-lab: %w", err)
	}
	return func(name string) string {
		if beside := filepath.Join(filepath.Dir(self), name); name != Name && exists(beside) {
			return beside
		} else if name != Name {
			return name
		}
		return self
	}, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// figureVerb reads what an instrument has printed, and prints its figure.
const figureVerb = "figure"

func (a program) figureCmd() *cobra.Command {
	return &cobra.Command{
		Use: figureVerb + " INSTRUMENT", Short: "Read an instrument's figure from its JSON", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			i := slices.IndexFunc(instruments, func(i instrument) bool { return i.name == args[0] })
			if i < 0 {
				return app.Usagef("%q is no instrument: expected %s", args[0], instrumentNames())
			}
			text, err := io.ReadAll(io.LimitReader(a.Stdin, figureLimit))
			if err != nil {
				return app.Failf("reading what %s printed: %w", args[0], err)
			}
			v, err := instruments[i].figure(text)
			if err != nil {
				return app.Failf("%s printed no figure: %w", args[0], err)
			}
			_, err = fmt.Fprintf(a.Stdout, "%.9g\n", v)
			return err
		},
	}
}

// figureLimit is how much an instrument may print.
const figureLimit = 256 << 20

var errNothing = errors.New("nothing was measured")

func lastRun(text []byte) (float64, error) {
	var said struct {
		Runs []struct {
			Median *float64 `json:"median_iops"`
		}
	}
	if err := json.Unmarshal(text, &said); err != nil || len(said.Runs) == 0 || said.Runs[len(said.Runs)-1].Median == nil {
		return 0, orNothing(err)
	}
	return *said.Runs[len(said.Runs)-1].Median, nil
}

func hits(text []byte) (float64, error) {
	var said struct {
		Curves []struct {
			Points []struct {
				Misses *float64 `json:"miss_ratio"`
			}
		}
	}
	if err := json.Unmarshal(text, &said); err != nil || len(said.Curves) == 0 {
		return 0, orNothing(err)
	}
	points := said.Curves[len(said.Curves)-1].Points
	if len(points) == 0 || points[len(points)-1].Misses == nil {
		return 0, errNothing
	}
	return 100 * (1 - *points[len(points)-1].Misses), nil
}

func firstCounter(text []byte) (float64, error) {
	var said struct {
		Counters []struct {
			Mean *float64 `json:"mean_bits_per_s"`
		}
	}
	if err := json.Unmarshal(text, &said); err != nil || len(said.Counters) == 0 || said.Counters[0].Mean == nil {
		return 0, orNothing(err)
	}
	return *said.Counters[0].Mean, nil
}

func slowestMember(text []byte) (float64, error) {
	var said struct {
		Groups []struct {
			Members []struct {
				Read  float64 `json:"read_ms"`
				Write float64 `json:"write_ms"`
			}
		}
	}
	err := json.Unmarshal(text, &said)
	worst := -1.0
	for _, g := range said.Groups {
		for _, m := range g.Members {
			worst = max(worst, m.Read, m.Write)
		}
	}
	if err != nil || worst < 0 {
		return 0, orNothing(err)
	}
	return worst, nil
}

func savedBytes(text []byte) (float64, error) {
	var said struct {
		Runs []struct {
			Saved *float64 `json:"saved_bytes"`
		}
	}
	if err := json.Unmarshal(text, &said); err != nil || len(said.Runs) == 0 || said.Runs[len(said.Runs)-1].Saved == nil {
		return 0, orNothing(err)
	}
	return *said.Runs[len(said.Runs)-1].Saved, nil
}

func loginTime(text []byte) (float64, error) {
	var said struct {
		Total struct {
			Median *float64 `json:"median_s"`
		}
	}
	if err := json.Unmarshal(text, &said); err != nil || said.Total.Median == nil {
		return 0, orNothing(err)
	}
	return *said.Total.Median, nil
}

// uptime is the first figure of /proc/uptime (proc_uptime(5)).
func uptime(text []byte) (v float64, err error) {
	_, err = fmt.Sscan(string(text), &v)
	return v, err
}

func orNothing(err error) error {
	if err != nil {
		return err
	}
	return errNothing
}
