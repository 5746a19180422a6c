package rule

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fettle/host"
	"fettle/host/fact/conffile"
	"fettle/host/fact/release"
	"fettle/host/format/blockconf"
	"fettle/host/format/sshd"
)

// upgradeFact is the upgrade that the host has before it, and what it does to a package.
type upgradeFact struct {
	seen
	Known     bool   `cel:"known"` // fettle knows the upgrade from this release
	From      string `cel:"from"`
	To        string `cel:"to"`
	Codename  string `cel:"codename"` // of To
	Leaves    string `cel:"leaves"`   // the codename of From
	Installed bool   `cel:"installed"`
	Name      string `cel:"name"`
	Version   string `cel:"version"`
	Next      string `cel:"next"` // the version in To; empty: there is none
	Gone      bool   `cel:"gone"` // installed as From has it, and not in To
	// Series and NextSeries are the first two numbers of the versions: "3.11", "3.13".
	Series     string `cel:"series"`
	NextSeries string `cel:"next_series"`
}

// series are the first two numbers of a package's version, without its epoch.
func series(version string) string {
	_, after, epoch := strings.Cut(version, ":")
	if !epoch {
		after = version
	}
	return seriesForm().FindString(after)
}

var seriesForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+(\.[0-9]+)?`) })

// elsewhere matches versions of repositories that have the same packages for each release: packages.sury.org and its PPA
// ("8.2.30-1+0~20251219.75+debian12~1.gbp1c2d3e", "8.1.34-1+ubuntu22.04.1+deb.sury.org+1"), and apt.postgresql.org
// ("15.15-1.pgdg12+1").
var elsewhere = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`sury\.org|\.pgdg|\+(debian|ubuntu)[0-9.]+~[0-9.]*gbp|~20[0-9]{6}\.[0-9]+\+(debian|ubuntu)`)
})

// crosses tells whether the upgrade brings the package from below a version to it or beyond.
func (u *upgradeFact) crosses(version string) (bool, error) {
	if !u.Installed || u.Next == "" {
		return false, nil
	}
	before, err := debCompare(u.Version, version)
	if err != nil {
		return false, err
	}
	after, err := debCompare(u.Next, version)
	return before < 0 && after >= 0, err
}

func readUpgrade(r *reading, f *Fact) (*upgradeFact, error) {
	w, err := release.Of(r.ctx, r.h)
	if no := (*release.NoWay)(nil); errors.As(err, &no) {
		return &upgradeFact{seen: seen{"/etc/os-release", no.From}}, nil
	}
	if err != nil {
		return nil, err
	}
	u := &upgradeFact{Known: true, From: w.From.String(), To: w.To.String(), Codename: w.To.Codename, Leaves: w.From.Codename}
	// What came with From counts before what came from elsewhere.
	ofFrom := func(name string) bool { v, _ := w.From.Has(name); return v != "" }
	var own, others []string
	for _, name := range f.Args {
		if ofFrom(name) {
			own = append(own, name)
		} else {
			others = append(others, name)
		}
	}
	p, err := readPackage(r, &Fact{Kind: f.Kind, Args: append(own, others...)})
	if err != nil {
		return nil, err
	}
	u.seen, u.Name = p.seen, p.Name
	if !p.Installed {
		return u, nil
	}
	u.Installed, u.Version = true, p.Version
	next, known := w.To.Has(p.Name)
	if !known {
		return nil, fmt.Errorf("fettle does not know which %s %s has", p.Name, w.To)
	}
	u.Next, u.Gone = next, next == "" && ofFrom(p.Name) && !elsewhere().MatchString(p.Version)
	u.Series, u.NextSeries = series(p.Version), series(next)
	return u, nil
}

// statementFact is a statement of a configuration of blocks.
type statementFact struct {
	seen
	Name   string   `cel:"name"`
	Args   []string `cel:"args"`
	Text   string   `cel:"text"`
	Within []string `cel:"within"`
	Block  string   `cel:"block"` // the words of the innermost block
	Path   string   `cel:"path"`
	Line   int      `cel:"line,volatile"`
}

func readStatements(r *reading, f *Fact) ([]*statementFact, error) {
	name, form := f.arg(), f.opt("form", "")
	all, err := host.Memo(r.ctx, r.h, "rule:statements:"+form+name, func() ([]blockconf.Statement, error) {
		return blockconf.Read(r.ctx, r.h, blockconf.Form(form), name)
	})
	if err != nil {
		return nil, err
	}
	out := []*statementFact{}
	for _, s := range all {
		if only := f.Opts["named"]; len(only) > 0 && !slices.Contains(only, s.Words[0]) {
			continue
		}
		out = append(out, &statementFact{seen: seen{fmt.Sprintf("%s:%d", s.File, s.Line), s.Text()}, Name: s.Words[0], Args: s.Words[1:],
			Text: s.Text(), Within: s.Within, Block: s.Block, Path: s.File, Line: s.Line})
	}
	return out, nil
}

// sshdFact is a line that sshd reads.
type sshdFact struct {
	seen
	Keyword string `cel:"keyword"`
	Value   string `cel:"value"`
	Path    string `cel:"path"`
	Line    int    `cel:"line,volatile"`
	Global  bool   `cel:"global"` // is outside of Match blocks
}

func readSshd(r *reading, f *Fact) ([]*sshdFact, error) {
	out := []*sshdFact{}
	c, err := sshd.Read(r.ctx, r.h)
	if host.IsAbsent(err) {
		return out, nil
	}
	if err == nil {
		err = c.Unread
	}
	if err != nil {
		return nil, err
	}
	for _, d := range c.Lines {
		if slices.Contains(f.Args, d.Keyword) {
			v := strings.Join(d.Args, " ")
			out = append(out, &sshdFact{seen: seen{d.String(), d.Spelling + " " + v}, Keyword: d.Keyword, Value: v, Path: d.File, Line: d.Line,
				Global: d.Global()})
		}
	}
	return out, nil
}

// conffileFact is a configuration file of a package, compared with what the package brought.
type conffileFact struct {
	seen
	Path     string               `cel:"path"`
	Package  string               `cel:"package_name"`
	UCF      bool                 `cel:"ucf"`
	Obsolete bool                 `cel:"obsolete"`
	Gone     bool                 `cel:"gone"`
	Changed  func() (bool, error) `cel:"changed"`
}

func readConffiles(r *reading, f *Fact) ([]*conffileFact, error) {
	all, err := conffile.All(r.ctx, r.h, func(c conffile.File) bool { return anyMatch(f.Args, c.Package) })
	if host.IsAbsent(err) {
		err = errNoPackages
	}
	if err != nil {
		return nil, err
	}
	out := []*conffileFact{}
	for _, c := range all {
		said := "as the package brought it"
		if c.Changed {
			said = "changed"
		}
		out = append(out, &conffileFact{seen: seen{c.Path, said}, Path: c.Path, Package: c.Package, UCF: c.UCF, Obsolete: c.Obsolete,
			Gone: c.Gone, Changed: func() (bool, error) { return c.Changed, c.Err }})
	}
	return out, nil
}
