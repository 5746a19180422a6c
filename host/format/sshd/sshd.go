// Package sshd reads the effective configuration of a host's OpenSSH server
// from its files alone, as `sshd -T` prints it: Include, Match, first value
// wins, defaults and spellings by version (sshd_config(5); OpenSSH 6.6 to 9.9,
// servconf.c). It asks no sshd, so it works on root folders and captures too.
package sshd

import (
	"fmt"
	"strings"

	"fettle/host"
)

// Main is the file that sshd reads first.
const Main = "/etc/ssh/sshd_config"

// Vendor is what sshd of SUSE (SLE 16, Leap 16, Tumbleweed) reads where there
// is no Main: the package brings no other.
const Vendor = "/usr/etc/ssh/sshd_config"

// DropIns is where distributions let admins put files of their own.
const DropIns = "/etc/ssh/sshd_config.d"

const dropInName = "00-fettle.conf" // a name that any usual pattern takes

// Place is where a value comes from. The zero Place is a default.
type Place struct {
	File string
	Line int // 1-based
}

// Default reports whether no file sets the value.
func (p Place) Default() bool { return p.File == "" }

// String is "/etc/ssh/sshd_config:12", or "default of sshd".
func (p Place) String() string {
	if p.Default() {
		return "default of sshd"
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Directive is one line that sets something.
type Directive struct {
	Place
	// Keyword is the name that sshd -T prints, in lower case; an old spelling
	// is turned into it. Spelling is what the line says.
	Keyword, Spelling string
	Args              []string // without quotes
	// Match is the condition under which the line counts, nil in the global
	// part. A file included within a Match block has that block's condition
	// and its own.
	Match []*Match
	// Ignored says why the line has no effect on any connection ("deprecated"),
	// empty otherwise.
	Ignored string

	values []string // as sshd -T prints them
}

// Global reports whether the line is outside all Match blocks.
func (d Directive) Global() bool { return len(d.Match) == 0 }

// Conn is one connection, as far as Match blocks ask. What is empty matches
// no criterion but All, as with `sshd -T -C`.
type Conn struct {
	User string
	// Groups are the names of all groups of User (accounts.DB.GroupsOf).
	Groups      []string
	Host        string // the client's name; with UseDNS no, its address again
	Addr        string // the client's address
	LocalAddr   string
	LocalPort   int
	RDomain     string
	InvalidUser bool // the user does not exist (Match invalid-user, 9.9)
}

// Setting is the effective value of one keyword.
type Setting struct {
	Keyword string
	// Values holds one element for a keyword with one value. Keywords with
	// several (Port, AcceptEnv, AllowUsers, HostKey, AuthenticationMethods)
	// have them all; Subsystem has one element per subsystem, "sftp COMMAND".
	Values []string
	Place
	// Known is false when no file sets the keyword and the default of this
	// version is not known: the version is not, or it depends on how sshd
	// was built (lists of algorithms).
	Known bool
}

// Value is the values in one line, as sshd -T prints them after the keyword.
func (s Setting) Value() string { return strings.Join(s.Values, " ") }

// Is reports whether the value is known and is v. Yes and no are written so.
func (s Setting) Is(v string) bool { return s.Known && strings.EqualFold(s.Value(), v) }

// Config is what the files say.
type Config struct {
	// Version is OpenSSH's, from the package database; zero when not known.
	Version Version
	// Server is the package that brings sshd, "openssh-server 1:9.2p1-2"; empty
	// when not known.
	Server string
	// Lines are all lines that set something, in the order in which sshd
	// reads them, those of Match blocks too.
	Lines []Directive
	// Files are the files read, the main one first.
	Files []string
	// Errors are lines over which sshd refuses to start or reload.
	Errors []*host.SyntaxError
	// Unread says what could not be looked at, so that values may be wrong.
	Unread error
	// VersionErr says why Version is not known.
	VersionErr error
	// Includes tells that the files hold an Include, so that sshd is 8.2 or later.
	Includes bool
	// DropIns reports whether the main file includes the *.conf of DropIns before
	// it sets anything: a first file there wins over all others.
	DropIns bool
}

// Effective is the configuration of one connection.
type Effective struct {
	cfg *Config
	set map[string]Setting
	old bool // sshd before 8.7
}
