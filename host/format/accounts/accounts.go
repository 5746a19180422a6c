// Package accounts reads who a host's users and groups are, from the files of
// passwd(5), group(5) and nsswitch.conf(5), without asking the C library: so
// that it works on captures, and never waits for a directory server.
package accounts

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle/host"
	"fettle/host/acl"
	"fettle/host/format/nameservice"
)

// User is one line of a passwd file.
type User struct {
	Name     string
	UID, GID uint32
	Gecos    string
	Home     string
	Shell    string
	File     string // where the line is
	Line     int
}

// Nobody owns no files: the kernel's overflowuid, and what programs run as that
// shall have no rights (systemd's and Debian's nobody).
const Nobody = 65534

// regular reports whether somebody made a user, and no package (login.defs(5),
// UID_MIN).
func (u User) regular() bool { return u.UID >= 1000 && u.UID != Nobody }

// Group is one line of a group file.
type Group struct {
	Name    string
	GID     uint32
	Members []string // as listed; users whose primary group it is are not among them
	File    string
	Line    int
}

// DB is what the files say.
type DB struct {
	Users  []User
	Groups []Group
	// Errors are the lines that could not be read. They are left out; the
	// rest stands.
	Errors []*host.SyntaxError
	// UsersElsewhere and GroupsElsewhere name the name services beyond files
	// ("sss", "ldap", "winbind", "nis") that may know further users, and
	// further groups or members of groups. Where they are not empty, "not in
	// the files" does not mean "nobody".
	UsersElsewhere, GroupsElsewhere []string
}

// Read reads the account files of h. An error means that passwd or group
// could not be looked at, or that nobody could look what nsswitch.conf says.
func Read(ctx context.Context, h *host.Host) (*DB, error) {
	db := &DB{}
	sw, err := nameservice.ReadSwitch(ctx, h)
	if err != nil {
		return nil, err
	}
	db.UsersElsewhere, db.GroupsElsewhere = elsewhere(sw, "passwd"), elsewhere(sw, "group", "initgroups")
	for _, f := range []struct {
		path  string
		parse func(file, text string) bool
		where *[]string
		alt   bool
	}{
		{"/etc/passwd", db.parsePasswd, &db.UsersElsewhere, false},
		{"/etc/group", db.parseGroup, &db.GroupsElsewhere, false},
		// nss-altfiles: image-based systems keep the vendor's accounts here.
		{"/usr/lib/passwd", db.parsePasswd, &db.UsersElsewhere, true},
		{"/usr/lib/group", db.parseGroup, &db.GroupsElsewhere, true},
	} {
		if f.alt && !uses(sw, "altfiles") {
			continue
		}
		b, err := h.ReadFile(ctx, f.path)
		if f.alt && host.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Lines of "+" and "-" bring in NIS, nsswitch.conf(5) "compat".
		if compat := f.parse(f.path, string(b)); compat && !slices.Contains(*f.where, "nis") {
			*f.where = append(*f.where, "nis")
		}
	}
	return db, nil
}

func (db *DB) parsePasswd(file, text string) (compat bool) {
	eachLine(text, func(n int, line string) {
		if line[0] == '+' || line[0] == '-' {
			compat = true
			return
		}
		f := strings.Split(line, ":")
		if len(f) < 7 {
			db.fail(file, n, "a user has 7 fields separated by colons; this line has %d", len(f))
			return
		}
		uid, ok1 := number(f[2])
		gid, ok2 := number(f[3])
		if f[0] == "" || !ok1 || !ok2 {
			db.fail(file, n, "a user whose name is empty, or whose user ID or group ID is not a number")
			return
		}
		db.Users = append(db.Users, User{f[0], uid, gid, f[4], f[5], strings.Join(f[6:], ":"), file, n})
	})
	return compat
}

func (db *DB) parseGroup(file, text string) (compat bool) {
	eachLine(text, func(n int, line string) {
		if line[0] == '+' || line[0] == '-' {
			compat = true
			return
		}
		f := strings.Split(line, ":")
		if len(f) < 4 {
			db.fail(file, n, "a group has 4 fields separated by colons; this line has %d", len(f))
			return
		}
		gid, ok := number(f[2])
		if f[0] == "" || !ok {
			db.fail(file, n, "a group whose name is empty, or whose group ID is not a number")
			return
		}
		g := Group{Name: f[0], GID: gid, File: file, Line: n}
		for m := range strings.SplitSeq(f[3], ",") {
			if m = strings.TrimSpace(m); m != "" {
				g.Members = append(g.Members, m)
			}
		}
		db.Groups = append(db.Groups, g)
	})
	return compat
}

// eachLine calls f for every line that glibc's files-XXX.c would parse:
// leading white space is skipped, and so are empty lines and comments.
func eachLine(text string, f func(n int, line string)) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t")
		if line != "" && line[0] != '#' {
			f(n, line)
		}
	}
}

func (db *DB) fail(file string, line int, format string, args ...any) {
	db.Errors = append(db.Errors, &host.SyntaxError{Path: file, Line: line, Msg: fmt.Sprintf(format, args...)})
}

func number(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil
}

// User finds a user by name; of several lines the first counts, as in getpwnam(3).
func (db *DB) User(name string) (User, bool) {
	return find(db.Users, func(u User) bool { return u.Name == name })
}

// UserByID finds a user by number.
func (db *DB) UserByID(uid uint32) (User, bool) {
	return find(db.Users, func(u User) bool { return u.UID == uid })
}

// Group finds a group by name.
func (db *DB) Group(name string) (Group, bool) {
	return find(db.Groups, func(g Group) bool { return g.Name == name })
}

// GroupByID finds a group by number.
func (db *DB) GroupByID(gid uint32) (Group, bool) {
	return find(db.Groups, func(g Group) bool { return g.GID == gid })
}

func find[T any](s []T, f func(T) bool) (T, bool) {
	var zero T
	if i := slices.IndexFunc(s, f); i >= 0 {
		return s[i], true
	}
	return zero, false
}

// WithHomes are root and the regular users, where they have a home: each home once.
func (db *DB) WithHomes() []User {
	var out []User
	seen := map[string]bool{}
	for _, u := range db.Users {
		if (u.UID == 0 || u.regular()) && path.IsAbs(u.Home) && !seen[u.Home] {
			seen[u.Home] = true
			out = append(out, u)
		}
	}
	return out
}

// GroupsOf is every group that a login of u runs with: the primary one, and
// those that list the name (getgrouplist(3)).
func (db *DB) GroupsOf(u User) []uint32 {
	out := []uint32{u.GID}
	for _, g := range db.Groups {
		if slices.Contains(g.Members, u.Name) && !slices.Contains(out, g.GID) {
			out = append(out, g.GID)
		}
	}
	return out
}

// MembersOf lists the users of a group, also those whose primary group it is,
// in the order of the passwd file. Missing are listed names that the files
// have no user for: stale ones, or users that another service knows.
func (db *DB) MembersOf(group string) (users []User, missing []string) {
	g, ok := db.Group(group)
	if !ok {
		return nil, nil
	}
	for _, u := range db.Users {
		if first, _ := db.User(u.Name); first == u && slices.Contains(db.GroupsOf(u), g.GID) {
			users = append(users, u)
		}
	}
	for _, o := range db.Groups {
		for _, m := range o.Members {
			if _, ok := db.User(m); !ok && o.GID == g.GID && !slices.Contains(missing, m) {
				missing = append(missing, m)
			}
		}
	}
	return users, missing
}

// Names resolves names for package acl.
func (db *DB) Names() acl.Names {
	return acl.Names{
		User: func(n string) (uint32, error) {
			u, ok := db.User(n)
			return u.UID, db.unless(ok, "user", db.UsersElsewhere)
		},
		Group: func(n string) (uint32, error) {
			g, ok := db.Group(n)
			return g.GID, db.unless(ok, "group", db.GroupsElsewhere)
		},
	}
}

func (db *DB) unless(ok bool, what string, elsewhere []string) error {
	if ok {
		return nil
	}
	if len(elsewhere) > 0 {
		return fmt.Errorf("no such %s in the files (%s not asked)", what, strings.Join(elsewhere, ", "))
	}
	return fmt.Errorf("no such %s", what)
}

// UserName is the name of a user ID, or the number as text.
func (db *DB) UserName(uid uint32) string {
	if u, ok := db.UserByID(uid); ok {
		return u.Name
	}
	return strconv.FormatUint(uint64(uid), 10)
}

// GroupName is the name of a group ID, or the number as text.
func (db *DB) GroupName(gid uint32) string {
	if g, ok := db.GroupByID(gid); ok {
		return g.Name
	}
	return strconv.FormatUint(uint64(gid), 10)
}
