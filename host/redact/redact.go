// Package redact replaces what identifies a host and its people with pseudonyms: host and
// domain names, addresses, hardware addresses, serial numbers, user names; and drops secrets.
//
// It works by what it knows to be harmless, not by what it knows to be
// secret. A word stays if it is in the vocabulary (words.txt: the words of
// configuration files, kernel settings and commands), a number, or a usual
// interface or device name. Every other word becomes a pseudonym, so a name
// that nobody thought of cannot slip through. Addresses keep shared prefixes
// and what they mean (private, link-local, multicast). Whole files of kinds
// that are not known are dropped by the caller: see KindOf.
//
// A pseudonym depends on the word and the key alone. The same word becomes the
// same pseudonym in a file, in a path and in a command's argument, which is
// what lets checks find their way through a redacted capture.
package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"fettle/internal/lazy"
)

// Dropped replaces a secret.
const Dropped = "redacted"

// Redactor replaces. Its methods must not be called concurrently.
type Redactor struct {
	key      []byte
	names    map[string]string // lower-case name to the sort of thing it is: replaced although the vocabulary may have its parts
	longest  []string          // the names, longest first
	addrs    map[netip.Addr]netip.Addr
	replaced map[string]string // pseudonym to the original
	people   map[string]bool   // accounts that are no part of the system
	system   map[string]bool   // accounts that are
	// Disguise gives the keys of an OpenPGP keyring other names and numbers, made
	// by the function; false: it cannot read them. Without it keyrings are dropped.
	Disguise func(keyring []byte, number func(of []byte) []byte) ([]byte, bool)
}

// New makes a Redactor. Captures made with one key share pseudonyms.
func New(key []byte) (*Redactor, error) {
	if len(key) < 16 {
		return nil, fmt.Errorf("redaction key of %d bytes: at least 16 are needed", len(key))
	}
	return &Redactor{
		key:      key,
		names:    map[string]string{},
		addrs:    map[netip.Addr]netip.Addr{},
		replaced: map[string]string{},
		people:   map[string]bool{},
		system:   map[string]bool{},
	}, nil
}

// Replaced lists the pseudonyms that were given, with the original of each:
// for the owner of the host only.
func (r *Redactor) Replaced() map[string]string { return maps.Clone(r.replaced) }

func (r *Redactor) keyring(b []byte) ([]byte, bool) {
	if r.Disguise == nil {
		return nil, false
	}
	return r.Disguise(b, func(of []byte) []byte { return r.mac("keyring", string(of)) })
}

func (r *Redactor) mac(use, s string) []byte {
	h := hmac.New(sha256.New, r.key)
	h.Write([]byte(use + "\x00" + s))
	return h.Sum(nil)
}

var letters = base32.NewEncoding("abcdefghijkmnpqrstuvwxyz23456789").WithPadding(base32.NoPadding)

// pseudonym names s again. It is short enough for an interface (IFNAMSIZ) and
// a user, and holds no separator.
func (r *Redactor) pseudonym(kind, s string) string {
	p := kind + letters.EncodeToString(r.mac("word", strings.ToLower(s)))[:8]
	r.replaced[p] = s
	return p
}

// given reports whether a word is a pseudonym already: some lines are read twice.
func (r *Redactor) given(w string) bool {
	_, ok := r.replaced[w]
	return ok && givenForm().MatchString(w)
}

var givenForm = lazy.Regexp(`^(?:w|host|user|dom|ser)[a-z2-9]{8}$`)

// The sorts of names that are looked for everywhere.
const (
	hostName   = "host"
	userName   = "user"
	domainName = "dom"
	serialName = "ser"
	word       = "w"
)

// Learn makes a name known that identifies: it is replaced wherever it
// stands. One that is an everyday word ("debian", "test") is replaced only
// where it is certain to be a name (Host, User); else every mention of the
// word would change its sense.
func (r *Redactor) learn(kind, name string) {
	name = strings.ToLower(strings.Trim(name, ". \t\n"))
	numbered := kind == serialName && len(name) > 4 && strings.ContainsAny(name, "0123456789") && !strings.Contains(name, ":")
	if len(name) < 3 || harmless(name) && !numbered || name == "localhost" {
		return
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return
	}
	if _, ok := r.names[name]; !ok {
		r.names[name] = kind
		i, _ := slices.BinarySearchFunc(r.longest, len(name), func(s string, n int) int { return n - len(s) })
		r.longest = slices.Insert(r.longest, i, name)
	}
}

// LearnHost learns a host's name, and of a full one its domain too.
func (r *Redactor) LearnHost(name string) {
	first, domain, ok := strings.Cut(name, ".")
	r.learn(hostName, first)
	if ok {
		r.LearnDomain(domain)
	}
}

// LearnDomain learns a domain: all its labels but the last.
func (r *Redactor) LearnDomain(name string) {
	labels := strings.Split(strings.Trim(name, "."), ".")
	for _, l := range labels[:len(labels)-1] {
		r.learn(domainName, l)
	}
}

func (r *Redactor) LearnUser(name string)   { r.learn(userName, name) }
func (r *Redactor) LearnSerial(name string) { r.learn(serialName, name) }

// public are domains whose names say nothing about who asks them, and that
// checks look for: distributions' archives, and keyservers that are no more.
var public = lazy.Regexp(
	`(?i)(?:^|\.)(?:debian\.org|ubuntu\.com|freexian\.com|pgp\.net|sks-keyservers\.net|keys\.gnupg\.net|keys\.openpgp\.org)$`,
)

// isPublic reports whether a name is of a public domain that this host is not of.
func (r *Redactor) isPublic(name string) bool {
	if !public().MatchString(name) {
		return false
	}
	for l := range strings.SplitSeq(strings.ToLower(name), ".") {
		if _, ours := r.names[l]; ours {
			return false
		}
	}
	return true
}

// topLevel are last labels of names that say nothing of anybody, and ends of files' names.
var topLevel = set(`journal conf json yaml html arpa example test invalid local localdomain lan home internal intern intra corp private domain info name cloud
	localhost online site tech host network systems university gmbh berlin hamburg`)

// Host replaces a host name, also one that is an everyday word.
func (r *Redactor) Host(name string) string {
	if r.isPublic(name) {
		return name
	}
	if name == "" || strings.HasPrefix(name, "localhost") || strings.HasPrefix(name, "ip6-") || name == "(none)" {
		return name
	}
	labels := strings.Split(name, ".")
	for i, l := range labels {
		switch {
		case r.given(l):
		case i == 0:
			labels[i] = r.pseudonym(hostName, l)
		case i < len(labels)-1:
			labels[i] = r.pseudonym(domainName, l)
		case topLevel[strings.ToLower(l)] || len(l) <= 3:
			labels[i] = r.words(l)
		default:
			labels[i] = r.pseudonym(domainName, l)
		}
	}
	return strings.Join(labels, ".")
}

// User replaces the name of a user who is no part of the system.
func (r *Redactor) User(name string) string { return r.pseudonym(userName, name) }

// one replaces a single word of letters and digits.
func (r *Redactor) one(w string) string {
	if kind, ok := r.names[strings.ToLower(w)]; ok {
		return r.pseudonym(kind, w)
	}
	if m := hexMAC().FindStringSubmatch(w); m != nil && (m[1] == "" && strings.Trim(m[2], "0123456789") != "" || vocabulary()[m[1]]) {
		b, _ := hex.DecodeString(m[2])
		p := m[1] + hex.EncodeToString(r.hardware(b))
		if p != w {
			r.replaced[p] = w
		}
		return p
	}
	if harmless(w) {
		return w
	}
	if len(w) >= 16 && strings.Trim(strings.ToLower(w), "0123456789abcdef") == "" {
		sum := r.mac("hex", strings.ToLower(w))
		h := strings.Repeat(hex.EncodeToString(sum), 1+len(w)/64)[:len(w)]
		r.replaced[h] = w
		return h
	}
	return r.pseudonym(word, w)
}
