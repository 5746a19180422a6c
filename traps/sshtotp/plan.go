package sshtotp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle/engine/remedy"
	"fettle/engine/trap"
	"fettle/host"
	"fettle/host/format/pam"
	"fettle/host/format/sshd"
)

// service is the file that is changed.
const service = "/etc/pam.d/sshd"

// facts are what the check, or the verb that sets codes up, tells the plan.
type facts struct {
	Setup bool   `json:"setup,omitempty"` // nothing is wrong: set codes up
	Why   string `json:"why,omitempty"`   // what the finding is about, where a remedy depends on it: "strict", "nullok", "never"
}

func plan(ctx context.Context, h *host.Host, f trap.Finding) (remedy.Plan, error) {
	if name, ok := strings.CutPrefix(f.Subject, perUser); ok {
		return modePlan(ctx, h, name)
	}
	told, err := trap.FactsIn[facts](f)
	if err != nil {
		return remedy.Plan{}, err
	}
	d, err := designOf(ctx, h, &f, told.Setup)
	if err != nil {
		return remedy.Plan{}, err
	}
	switch {
	case told.Setup:
	case f.Subject == keys && f.Chosen("factors") == "":
		d.factors = "key"
	case f.Subject == noFile && told.Why == "strict" && f.Chosen("mode") == "":
		return remedy.Plan{}, remedy.Refuse(
			"give them a file each: fettle totp enrol --group GROUP --out FOLDER. Or let them in without a code until they have one: fettle fix "+
				"ssh-totp --on %s --with mode=nullok",
			noFile,
		)
	case f.Subject == noFile, f.Subject == whole, f.Subject == keys:
	default:
		return remedy.Plan{}, remedy.Refuse("fettle has no remedy for %s", f.Subject)
	}
	p, err := setUp(ctx, h, d)
	var refusal *remedy.Refusal
	if errors.As(err, &refusal) && told.Why == "never" && f.Chosen("factors") == "" {
		// Where sshd takes no passwords, the code goes with a key.
		d.factors = "key"
		if p2, err2 := setUp(ctx, h, d); err2 == nil {
			return p2, nil
		}
	}
	return p, err
}

// designOf is what the admin chose, and for the rest what is there already.
func designOf(ctx context.Context, h *host.Host, f *trap.Finding, setup bool) (design, error) {
	d := design{nullok: true, factors: "password"}
	c, err := pam.Read(ctx, h, "sshd")
	if err != nil {
		return d, err
	}
	lines := c.Uses(pam.Auth, module)
	if len(lines) > 0 {
		d.nullok = lines[0].Arg("nullok")
		d.group = groupOf(c)
		if len(lines) > 1 || len(lines[0].Args) > b2i(d.nullok) {
			if setup || f.Subject != whole {
				return d, remedy.Refuse(
					"%s:%d asks for a code with its own options (%s), which fettle would lose: change it by hand",
					lines[0].File,
					lines[0].Line,
					strings.Join(lines[0].Args, " "),
				)
			}
		}
	}
	if g := f.Chosen("group"); g != "" {
		d.group = g
	} else if setup && len(lines) == 0 {
		return d, remedy.Refuse("name the users who need a code: --group NAME, or --group all")
	}
	if d.group == "all" {
		d.group = ""
	}
	if strings.ContainsFunc(d.group, func(r rune) bool {
		return !(r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) {
		return d, remedy.Refuse("%q: fettle takes groups of letters, digits, dots, dashes and underscores", d.group)
	}
	if m := f.Chosen("mode"); m != "" {
		d.nullok = m == "nullok"
	}
	if x := f.Chosen("factors"); x != "" {
		d.factors = x
	}
	return d, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// groupOf is the group that a condition right before the code's line names.
func groupOf(c *pam.Config) string {
	rules, _ := c.Stack(pam.Auth)
	for i := 1; i < len(rules); i++ {
		if rules[i].Name() != module || rules[i-1].Name() != "pam_succeed_if" {
			continue
		}
		a := rules[i-1].Args
		if j := slices.Index(a, "notingroup"); j > 0 && j+1 < len(a) && a[j-1] == "user" {
			return a[j+1]
		}
	}
	return ""
}

// setUp finds files that do what d wants, and proves it by simulation before
// it says so.
func setUp(ctx context.Context, h *host.Host, d design) (remedy.Plan, error) {
	before, err := take(ctx, h, files{})
	if err != nil {
		return remedy.Plan{}, err
	}
	cfg, c := before.logins.Sshd, before.logins.Sim.Config
	switch {
	case len(cfg.Errors) > 0:
		return remedy.Plan{}, remedy.Refuse("sshd refuses its current configuration: %v", cfg.Errors[0])
	case c.Fatal != nil:
		return remedy.Plan{}, remedy.Refuse("PAM refuses its current configuration: %v", c.Fatal)
	case len(before.logins.Sim.Unread) > 0:
		return remedy.Plan{}, fmt.Errorf("not everything that PAM's modules read could be read: %w", before.logins.Sim.Unread[0])
	}
	if err := before.ready(ctx, h, d); err != nil {
		return remedy.Plan{}, err
	}
	pf, err := readPAM(ctx, h, c)
	if err != nil {
		return remedy.Plan{}, err
	}
	if cfg.Files[0] != sshd.Main && !cfg.DropIns {
		return remedy.Plan{}, remedy.Refuse(
			"%s belongs to the package: copy it to %s first, and have it include %s/*.conf at the top",
			cfg.Files[0],
			sshd.Main,
			sshd.DropIns,
		)
	}
	main, err := h.ReadFile(ctx, cfg.Files[0])
	if err != nil {
		return remedy.Plan{}, err
	}
	var last error
	for _, text := range pf.variants(d) {
		for _, w := range d.wishes(cfg) {
			with := w.files(cfg, string(main))
			with[service] = []byte(text)
			after, err := take(ctx, h, with)
			if err != nil {
				return remedy.Plan{}, err
			}
			var hard bool
			if last, hard = before.compare(after, d); last == nil {
				return steps(ctx, h, d, with, before, after)
			} else if hard {
				return remedy.Plan{}, last
			}
		}
	}
	if last == nil {
		last = fmt.Errorf("%s has no line that authenticates", service)
	}
	return remedy.Plan{}, remedy.Refuse(
		"fettle finds no way to add the code to this stack that works in simulation: %v. Nothing was changed",
		last,
	)
}

// readPAM reads the service's file, from the vendor's folder if the admin has
// none.
func readPAM(ctx context.Context, h *host.Host, c *pam.Config) (*pamFile, error) {
	for _, dir := range pam.Dirs {
		b, err := h.ReadFile(ctx, dir+"/sshd")
		if host.IsAbsent(err) {
			continue
		}
		return &pamFile{path: service, text: string(b), cfg: c}, err
	}
	return nil, remedy.Refuse("there is no file of the service sshd in /etc/pam.d: PAM uses the service other, which fettle does not change")
}

// ready refuses what cannot work here.
func (v *survey) ready(ctx context.Context, h *host.Host, d design) error {
	if d.group != "" {
		if _, ok := v.logins.DB.Group(d.group); !ok {
			where := ""
			if e := v.logins.DB.GroupsElsewhere; len(e) > 0 {
				where = " (" + strings.Join(e, ", ") + " was not asked)"
			}
			return remedy.Refuse(
				"there is no group %s in /etc/group%s: groupadd --system %s, then gpasswd -a USER %s",
				d.group,
				where,
				d.group,
				d.group,
			)
		}
	}
	for _, dir := range pam.ModuleDirs {
		ok, err := h.Exists(ctx, dir)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if ok, err = h.Exists(ctx, dir+"/"+module+".so"); err != nil {
			return err
		} else if ok {
			return nil
		}
		if ok, err = h.Exists(ctx, dir+"/pam_unix.so"); err != nil || ok {
			break
		}
	}
	return remedy.Refuse(
		"%s.so is not installed. Install it first: apt install libpam-google-authenticator, or dnf install google-authenticator (EPEL)",
		module,
	)
}
