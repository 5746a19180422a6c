package pam

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"fettle/host"
	"fettle/host/format/accounts"
)

// Sim simulates the stacks of one service on one host. What modules look up
// beside the user is read beforehand; Ask reads nothing but, through File, the
// state of users' files.
type Sim struct {
	Config *Config
	// Texts are the files that lists are kept in, by name.
	Texts map[string]Text
	// Missing are modules, as written in the lines, that are not installed.
	Missing map[string]bool
	// Nologin: /etc/nologin or /run/nologin is there.
	Nologin bool
	// Shells are those of /etc/shells; nil when nobody could look.
	Shells     []string
	RootGroups []string
	// File tells what a user's file of one-time codes is to the module that
	// line r asks. Nil: not known.
	File func(r *Rule, u *User) FileState
	// Unread is what could not be looked at: answers may depend on it.
	Unread []error
}

func (s *Sim) file(r *Rule, u *User) FileState {
	if s.File == nil {
		return FileUnknown
	}
	return s.File(r, u)
}

// ModuleDirs are where distributions keep modules.
var ModuleDirs = []string{
	"/usr/lib/x86_64-linux-gnu/security",
	"/usr/lib/aarch64-linux-gnu/security",
	"/usr/lib/arm-linux-gnueabihf/security",
	"/usr/lib/i386-linux-gnu/security",
	"/usr/lib/riscv64-linux-gnu/security",
	"/usr/lib/powerpc64le-linux-gnu/security",
	"/usr/lib/s390x-linux-gnu/security",
	"/usr/lib64/security",
	"/usr/lib/security",
	"/lib/x86_64-linux-gnu/security",
	"/lib/aarch64-linux-gnu/security",
	"/lib64/security",
	"/lib/security",
}

// NewSim reads what the stacks of c refer to. What cannot be looked at makes
// answers depend on it.
func NewSim(ctx context.Context, h *host.Host, c *Config) *Sim {
	s := &Sim{Config: c, Texts: map[string]Text{}, Missing: map[string]bool{}, RootGroups: []string{"root"}}
	var dir string
	for _, d := range ModuleDirs {
		ok, err := h.Exists(ctx, d)
		if err != nil {
			s.Unread = append(s.Unread, err)
		}
		if ok {
			dir = d
			break
		}
	}
	for _, f := range []Facility{Auth, Account} {
		rules, _ := c.Stack(f)
		for i := range rules {
			r := &rules[i]
			if r.Kind != Module {
				continue
			}
			s.installed(ctx, h, dir, r.Module)
			switch r.Name() {
			case "pam_listfile":
				if name, ok := r.Value("file"); ok {
					s.text(ctx, h, name)
				}
			case "pam_access":
				name, ok := r.Value("accessfile")
				if !ok {
					name = "/etc/security/access.conf"
				}
				s.text(ctx, h, name)
			case "pam_shells":
				b, err := h.ReadFile(ctx, "/etc/shells")
				if err == nil {
					s.Shells = strings.Fields(string(b))
				}
				s.note(err)
			case "pam_cap":
				name, ok := r.Value("config")
				if !ok {
					name = capConf
				}
				s.text(ctx, h, name)
			case "pam_nologin":
				for _, p := range []string{"/etc/nologin", "/var/run/nologin"} {
					ok, err := h.Exists(ctx, p)
					s.Nologin = s.Nologin || ok
					s.note(err)
				}
			}
		}
	}
	return s
}

// installed notes a module that is not there, where its folder is known.
func (s *Sim) installed(ctx context.Context, h *host.Host, dir, module string) {
	name := module
	if !strings.HasPrefix(module, "/") {
		if dir == "" {
			return
		}
		name = path.Join(dir, module)
	}
	ok, err := h.Exists(ctx, name)
	if err == nil && !ok {
		s.Missing[module] = true
	}
	s.note(err)
}

// note keeps what says that nobody could look.
func (s *Sim) note(err error) {
	if err != nil && !host.IsAbsent(err) && !errors.Is(err, host.ErrNotRunning) {
		s.Unread = append(s.Unread, err)
	}
}

func (s *Sim) text(ctx context.Context, h *host.Host, name string) {
	b, err := h.ReadFile(ctx, name)
	t := Text{Content: string(b), Absent: host.IsAbsent(err)}
	t.Unread = err != nil && !t.Absent
	s.note(err)
	if st, err := h.Lstat(ctx, name); err == nil {
		t.Unsafe = !st.Mode.IsRegular() || st.Mode.Perm()&0o002 != 0
	}
	s.Texts[name] = t
}

// UserOf turns an account into a User.
func UserOf(db *accounts.DB, u accounts.User) *User {
	out := &User{Name: u.Name, UID: u.UID, GID: u.GID, Home: u.Home, Shell: u.Shell, Local: true}
	for _, gid := range db.GroupsOf(u) {
		for _, g := range db.Groups {
			if g.GID == gid && !slices.Contains(out.Groups, g.Name) {
				out.Groups = append(out.Groups, g.Name)
			}
		}
	}
	return out
}
