package park

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Upgraded is a host of the old release that is upgraded to the next one: what
// will break on it, and what only looks like it.
type Upgraded struct {
	Name     string   `yaml:"-"` // the file's
	About    string   `yaml:"about"`
	Packages []string `yaml:"packages"`
	// Innocent: fettle must say that nothing breaks.
	Innocent bool `yaml:"innocent"`
	// Mended: it is upgraded a second time, after what fettle advises was done.
	Mended bool   `yaml:"mended"`
	Cases  []Case `yaml:"cases"`
	// Failing are units that fail after the upgrade for reasons of the container.
	Failing []string `yaml:"failing"`
}

// Case is one thing on a host that the upgrade breaks, or that looks like it.
type Case struct {
	Name string `yaml:"name"`
	// Trap must be told of it; on is in the finding's subject or summary.
	Trap string `yaml:"trap"`
	On   string `yaml:"on"`
	// Like: it only looks like what the trap is about, must not be told, and must not break.
	Like bool `yaml:"like"`
	// Prepare is a shell script that makes it; the host is started again after.
	Prepare string `yaml:"prepare"`
	// Works is a shell script that succeeds as long as nothing is broken.
	Works string `yaml:"works"`
	// Sources: apt itself breaks as soon as the sources name the new release. It
	// is probed there, and mended, so that the upgrade can go on.
	Sources bool `yaml:"sources"`
	// Mend is what the finding says to do before the upgrade; after, right after it.
	Mend  string `yaml:"mend"`
	After string `yaml:"after"`
	// Install are packages of the old release that it says to install before.
	Install []string `yaml:"install"`
	// Units are those that fail when it breaks.
	Units []string `yaml:"units"`
}

// Upgrades reads all hosts of a folder.
func Upgrades(dir fs.FS) ([]Upgraded, error) {
	return readAll(dir, func(u *Upgraded, name string) error {
		u.Name = name
		return u.valid()
	})
}

func (u *Upgraded) valid() error {
	if u.About == "" || len(u.Cases) == 0 {
		return fmt.Errorf("about and cases are both needed")
	}
	for _, c := range u.Cases {
		switch {
		case c.Name == "" || c.Works == "":
			return fmt.Errorf("case %q: name and works are both needed", c.Name)
		case c.Trap == "" && !c.Like:
			return fmt.Errorf("case %q: which trap tells of it?", c.Name)
		case u.Innocent && !c.Like:
			return fmt.Errorf("case %q breaks, and the host is innocent", c.Name)
		}
	}
	return nil
}

// Told is what fettle before upgrade said.
type Told struct {
	Verdict   string   `json:"verdict"`
	Stops     []string `json:"stops"`
	Changes   []string `json:"changes"`
	Report    document `json:"report"`
	NotLooked []struct {
		Trap   string `json:"trap"`
		Reason string `json:"reason"`
	} `json:"not_looked"`
}

// breaks are the findings that say that something stops or changes.
func (t *Told) breaks() (all []Outcome) {
	for _, r := range t.Report.Results {
		for _, o := range r.Outcomes {
			o.Trap = r.Trap
			id := o.Trap
			if o.Subject != "" {
				id += ":" + o.Subject
			}
			if o.Status == "found" && (slices.Contains(t.Stops, id) || slices.Contains(t.Changes, id)) {
				all = append(all, o)
			}
		}
	}
	return all
}

// of reports whether a finding is what a case is about.
func (c *Case) of(o Outcome) bool {
	return o.Trap == c.Trap && strings.Contains(o.Subject+"\n"+o.Summary, c.On)
}

// Fate is what became of a case.
type Fate struct {
	Case
	Told   bool // a finding says that it stops or changes
	Before bool // it worked before
	After  bool // it works after
}

// Broke reports whether the upgrade broke it.
func (f *Fate) Broke() bool { return f.Before && !f.After }

// Result is what came of one host.
type Result struct {
	Host     string
	Verdict  string
	Fates    []Fate
	Unasked  []Outcome // findings of what no case is about
	Failing  []string  // units that fail after the upgrade, and why is not known
	Packages int       // that were upgraded
}

// Weigh holds what was told against what happened.
func Weigh(u *Upgraded, told *Told, before, after map[string]bool, failing []string) Result {
	r := Result{Host: u.Name, Verdict: told.Verdict}
	breaks := told.breaks()
	explained := slices.Clone(u.Failing)
	for _, c := range u.Cases {
		f := Fate{Case: c, Told: slices.ContainsFunc(breaks, c.of), Before: before[c.Name], After: after[c.Name]}
		if f.Broke() {
			explained = append(explained, c.Units...)
		}
		r.Fates = append(r.Fates, f)
	}
	for _, o := range breaks {
		if !slices.ContainsFunc(u.Cases, func(c Case) bool { return c.of(o) }) {
			r.Unasked = append(r.Unasked, o)
		}
	}
	for _, unit := range failing {
		if !slices.Contains(explained, unit) {
			r.Failing = append(r.Failing, unit)
		}
	}
	return r
}

// Count is how many cases there are, how many broke, how many of these were
// told, and how many things were told that did not break.
func (r *Result) Count() (cases, broke, told, false_ int) {
	for _, f := range r.Fates {
		cases++
		switch {
		case f.Broke() && f.Told:
			broke++
			told++
		case f.Broke():
			broke++
		case f.Told:
			false_++
		}
	}
	return cases, broke, told, false_ + len(r.Unasked)
}

// Wrong is everything about a host that should be otherwise.
func (r *Result) Wrong(innocent bool) (all []string) {
	for _, f := range r.Fates {
		switch {
		case !f.Before:
			all = append(all, fmt.Sprintf("%s: does not work before the upgrade", f.Name))
		case f.Broke() && !f.Told:
			all = append(all, fmt.Sprintf("%s: broke, and was not told (%s)", f.Name, f.Trap))
		case f.Told && !f.Broke():
			all = append(all, fmt.Sprintf("%s: was told (%s), and works", f.Name, f.Trap))
		case !f.Broke() && !f.Like:
			all = append(all, fmt.Sprintf("%s: neither told nor broken", f.Name))
		}
	}
	for _, o := range r.Unasked {
		all = append(all, fmt.Sprintf("told, and no case is about it: %s on %s: %s", o.Trap, o.Subject, o.Summary))
	}
	for _, unit := range r.Failing {
		all = append(all, fmt.Sprintf("%s fails after the upgrade", unit))
	}
	if innocent && r.Verdict != "nothing-breaks" {
		all = append(all, fmt.Sprintf("the verdict of an innocent host is %q", r.Verdict))
	}
	return all
}

// upgradeHead begins the table of hosts, wherever it is.
const upgradeHead = "| host | packages | prepared | broke | of these told | told, and did not break |\n"

// UpgradeTable is the hosts as Markdown.
func UpgradeTable(all []Result) string {
	var b strings.Builder
	b.WriteString(upgradeHead + "|---|---|---|---|---|---|\n")
	var sum [4]int
	for _, r := range all {
		cases, broke, told, wrong := r.Count()
		for i, n := range []int{cases, broke, told, wrong} {
			sum[i] += n
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", r.Host, r.Packages, cases, broke, told, wrong)
	}
	fmt.Fprintf(&b, "| all | | %d | %d | %d | %d |\n", sum[0], sum[1], sum[2], sum[3])
	return b.String()
}

// PutTable puts a table of hosts into a document that has one already.
func PutTable(doc, table string) (string, error) {
	before, rest, ok := strings.Cut(doc, upgradeHead)
	if !ok {
		return "", fmt.Errorf("the document has no table of hosts")
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	return before + table + "\n" + after, nil
}
