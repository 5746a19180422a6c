package remedy

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fettle/internal/octets"
	"fettle/internal/shell"
	"fettle/remedy/machine"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"fettle/internal/ui"
)

// ErrSecret is the refusal to write a plan with secret content into a script.
var ErrSecret = errors.New("the plan holds secret content, which is not written into scripts; let fettle apply it itself")

// scriptHead defines what the steps below it use. undo.sh grows at its front,
// so that the last step is undone first; what daemons must do again stays at
// its end.
const scriptHead = `set -eu
[ "$(id -u)" = 0 ] || { echo "run this as root" >&2; exit 1; }
mkdir -p -- "${FETTLE_BACKUP:=/var/backups}"
backup=$(mktemp -d -- "$FETTLE_BACKUP/fettle.XXXXXXXX")
: > "$backup/undo" ; : > "$backup/again"
quoted() { for arg; do printf "'%s' " "$(printf '%s' "$arg" | sed "s/'/'\\\\''/g")"; done; }
# undo COMMAND…: what takes the step back, run in the backup folder
undo() { { quoted "$@"; echo; cat -- "$backup/undo"; } > "$backup/undo.new"; mv -- "$backup/undo.new" "$backup/undo"; }
again() { { quoted "$@"; echo; } >> "$backup/again"; }
finish() {
	{ echo '#!/bin/sh'; echo 'set -eu'; printf 'cd -- '; quoted "$backup"; echo; cat -- "$backup/undo" "$backup/again"; } > "$backup/undo.sh"
	echo "to undo: sh $backup/undo.sh"
}
trap finish EXIT
# rooted PATH: stops where others than root could put another file in its place
rooted() {
	at=/ rest=$1 links=0
	while [ -n "$rest" ]; do
		part=${rest%%/*}
		case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac
		case $part in '' | .) continue ;; ..) at=$(dirname -- "$at"); continue ;; esac
		[ -e "$at/." ] || return 0 # made by this script, below root's
		owner=0
		case $(stat -c %u:%a -- "$at/.") in
		0:[1357]??[2367] | 0:[1357]?[2367]?) # sticky: the entry's owner may rename it
			if [ -e "$at/$part" ] || [ -L "$at/$part" ]; then owner=$(stat -c %u -- "$at/$part"); fi ;;
		0:*[2367] | 0:*[2367]?) owner=group ;;
		0:*) ;;
		*) owner=user ;;
		esac
		[ "$owner" = 0 ] || { echo "$1: others than root may write to $at; let fettle itself apply the plan" >&2; exit 1; }
		if [ -L "$at/$part" ]; then
			links=$((links + 1)); [ "$links" -le 40 ] || { echo "$1: too many links" >&2; exit 1; }
			target=$(readlink -- "$at/$part")
			case $target in /*) at=/ ;; esac
			rest=$target/$rest
		else
			at=${at%/}/$part
		fi
	done
}
# expect FILE SHA256: stops when the file is not the one the plan was made from
expect() {
	if [ -z "$2" ]; then
		[ ! -e "$1" ] || { echo "$1 is there already; make the plan anew" >&2; exit 1; }
	elif ! printf '%s  %s\n' "$2" "$1" | sha256sum -c --status; then
		echo "$1 was changed since the plan was made; make it anew" >&2; exit 1
	fi
}
# replace FILE MODE: standard input becomes its content; an old one keeps its attributes
replace() {
	mkdir -p -- "$(dirname -- "$1")"
	target=$(readlink -f -- "$1")
	if [ -e "$target" ] && { [ "$(stat -c %h -- "$target")" -gt 1 ] || mountpoint -q -- "$target"; }; then
		cat > "$target"
		return
	fi
	new=$(mktemp -- "$(dirname -- "$target")/.fettle.XXXXXXXX")
	cat > "$new"
	if [ -e "$target" ]; then cp --attributes-only --preserve=mode,ownership,xattr -- "$target" "$new"; else chmod "$2" -- "$new"; fi
	sync -- "$new"
	mv -f -- "$new" "$target"
}
# value FILE: what it says; of "a [b] c" the b
value() { sed 's/.*\[\(.*\)\].*/\1/' -- "$1"; }
# keep NAME FILE…: remembers values, to be put back in this order
keep() {
	name=$1; shift
	for file; do [ ! -r "$file" ] || printf '%s %s\n' "$file" "$(value "$file")"; done > "$backup/$name"
	undo sh -c 'while read -r file old; do [ "$(sed "s/.*\[\(.*\)\].*/\1/" "$file")" = "$old" ] || printf "%s\n" "$old" > "$file" || :; done < "$1"' sh "./$name"
}
`

// Script writes the plan as a POSIX shell script for people under change
// control: it stops where a file is not what the plan was made from, keeps
// what it changes below /var/backups (or $FETTLE_BACKUP), and leaves an
// undo.sh there. It does not verify.
func Script(p Plan) (string, error) {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# shellcheck disable=SC2016,SC2317  # dollar signs in quotes are data; not every plan uses every function\n" + comment("# ", p.Title) + "# Written by fettle. It does not check afterwards whether it helped.\n")
	for _, n := range p.Notes {
		b.WriteString(comment("# Note: ", n))
	}
	if p.CutsConnection {
		b.WriteString("# This can cut your own connection to the host: have another way in.\n")
	}
	b.WriteString(scriptHead)
	for i, s := range p.Steps {
		r := s.Reversal()
		fmt.Fprintf(&b, "\n%s%s", comment(fmt.Sprintf("# %d. ", i+1), s.Describe()), comment("#    ", strings.TrimSuffix(string(r.Class)+": "+r.Note, ": ")))
		text, err := scriptStep(i, s)
		if err != nil {
			return "", fmt.Errorf("step %d (%s): %w", i+1, s.Describe(), err)
		}
		b.WriteString(text)
	}
	if err := readable(b.String()); err != nil {
		return "", err
	}
	return b.String(), nil
}

// comment makes data into one comment line: a line end in it would begin a
// command.
func comment(lead, text string) string {
	return strings.TrimRight(lead+ui.Visible(strings.TrimSpace(text)), " ") + "\n"
}

// readable refuses an export that shows a reader something else than what it
// does: with characters that a terminal acts on or hides, which came from the
// name or the content of a file.
func readable(export string) error {
	n := 1
	for _, r := range export {
		switch {
		case r == '\n':
			n++
		case r == '\t' || unicode.IsPrint(r) && r != utf8.RuneError:
		default:
			return fmt.Errorf("line %d would hold the character %q, which a terminal acts on or hides; fettle fix applies the plan itself", n, r)
		}
	}
	return nil
}

func scriptStep(i int, s Step) (string, error) {
	name := fmt.Sprintf("step%d", i+1)
	cmd := func() (out string) {
		for _, c := range Commands(s) {
			out += c + "\n"
		}
		return out
	}
	rooted := ""
	if a, err := actionOf(s); err == nil && a.target() != "" {
		rooted = "rooted " + shell.Quote(a.target()) + "\n"
	}
	text, err := scriptText(name, s, cmd)
	return rooted + text, err
}

func scriptText(name string, s Step, cmd func() string) (string, error) {
	switch s := s.(type) {
	case File:
		if s.Secret {
			return "", ErrSecret
		}
		return scriptFile(name, s), nil
	case Remove:
		q := shell.Quote(s.Path)
		return fmt.Sprintf("expect %s %s\ncp -a -- %s \"$backup/%s\"\nundo cp -a -- ./%s %s\nrm -- %s\n", q, machine.Sum(s.Was), q, name, name, q, q), nil
	case Perm:
		q := shell.Quote(s.Path)
		return fmt.Sprintf("old=$(stat -c %%a -- %s)\nundo chmod \"$old\" -- %s\nold=$(stat -c %%u:%%g -- %s)\nundo chown \"$old\" -- %s\n%s", q, q, q, q, cmd()), nil
	case ACL:
		q := shell.Quote(s.Path)
		out := fmt.Sprintf("getfacl -p -- %s > \"$backup/%s.acl\"\nundo setfacl --restore=./%s.acl\n", q, name, name)
		if s.Access == "none" {
			// setfacl -b would drop the default list too.
			out += fmt.Sprintf("mode=$(getfacl -cp -- %s | sed -n 's/^group::\\([rwx-]*\\).*/\\1/p' | tr -d -)\nsetfattr -x system.posix_acl_access -- %s || :\nchmod \"g=$mode\" -- %s\n", q, q, q)
			s.Access = ""
		}
		for _, c := range Commands(s) {
			out += c + "\n"
		}
		return out, nil
	case Sysctl:
		main := shell.Quote(procSys + s.Key)
		return fmt.Sprintf("keep %s %s%s\nprintf '%%s\\n' %s > %s\n", name, main, scriptAside(s.Key), shell.Quote(s.Value), main), nil
	case Sysfs:
		q := shell.Quote(s.Path)
		return fmt.Sprintf("keep %s %s\nprintf '%%s\\n' %s > %s\n", name, q, shell.Quote(s.Value), q), nil
	case Unit:
		return scriptUnit(s, cmd()), nil
	case LinkMTU:
		q := shell.Quote(octets.Name(s.Link))
		// Into a variable first: set -e does not see a command that fails within
		// the arguments of another.
		return fmt.Sprintf("old=$(cat -- %s)\nundo ip link set dev %s mtu \"$old\"\n%s", shell.Quote("/sys/class/net/"+octets.Name(s.Link)+"/mtu"), q, cmd()), nil
	case SolicitRouter:
		return "if command -v rdisc6 > /dev/null; then rdisc6 -1 -q -r 1 -w 1000 -- " + shell.Quote(octets.Name(s.Link)) + " || :; fi # only speeds things up\n", nil
	case Check:
		return cmd(), nil // under set -e
	case MDReadd:
		return scriptMDReadd(s), nil
	case MDBitmap:
		return scriptMDBitmap(s), nil
	case Command:
		var out string
		if len(s.Require) > 0 {
			out += shell.Join(s.Require) + "\n"
		}
		out += shell.Join(s.Do) + "\n"
		if s.Again {
			out = "again " + shell.Join(s.Do) + "\n" + out
		}
		if len(s.Undo) > 0 {
			out += "undo " + shell.Join(s.Undo) + "\n"
		}
		return out, nil
	}
	return "", fmt.Errorf("%T is not one of fettle's steps", s)
}

func scriptFile(name string, s File) string {
	q := shell.Quote(s.Path)
	var b strings.Builder
	was := "''"
	if s.Was != nil {
		was = machine.Sum(s.Was)
	}
	fmt.Fprintf(&b, "expect %s %s\n", q, was)
	if s.Was != nil {
		fmt.Fprintf(&b, "cp -aL -- %s \"$backup/%s\"\n", q, name)
		// In place, so that hard links stay: cp -a would part them.
		fmt.Fprintf(&b, "undo cp --preserve=all --no-preserve=links -- ./%s %s\n", name, q)
	} else {
		fmt.Fprintf(&b, "undo rm -f -- %s\n", q)
	}
	if !isText(s.Content) || !bytes.HasSuffix(s.Content, []byte("\n")) {
		// A here-document is text that ends with a newline.
		fmt.Fprintf(&b, "base64 -d <<'FETTLE' | replace %s %04o\n", q, s.mode())
		enc := base64.StdEncoding.EncodeToString(s.Content)
		for ; len(enc) > 76; enc = enc[76:] {
			b.WriteString(enc[:76] + "\n")
		}
		b.WriteString(enc + "\nFETTLE\n")
		return b.String()
	}
	end := "FETTLE"
	for bytes.Contains(append([]byte("\n"), s.Content...), []byte("\n"+end+"\n")) {
		end += "_"
	}
	fmt.Fprintf(&b, "replace %s %04o <<'%s'\n%s%s\n", q, s.mode(), end, s.Content, end)
	return b.String()
}

// scriptAside is asideOf for the host that the script will run on: globs, in
// the order in which the values are put back.
func scriptAside(key string) string {
	for a, b := range twins {
		if key == a {
			return " " + procSys + b
		}
		if key == b {
			return " " + procSys + a
		}
	}
	f := strings.Split(key, "/")
	switch {
	case key == "net/ipv4/ip_forward", key == "net/ipv4/conf/all/forwarding":
		dir := procSys + "net/ipv4/conf/"
		return " " + dir + "all/forwarding " + dir + "default/forwarding " + dir + "*/forwarding " + dir + "*/accept_redirects"
	case len(f) == 5 && f[0] == "net" && f[2] == "conf" && (f[3] == "all" || f[3] == "default"):
		dir, col := shell.Quote(procSys+path.Join(f[:3]...))+"/", "/"+shell.Quote(f[4])
		return " " + dir + "all" + col + " " + dir + "default" + col + " " + dir + "*" + col
	}
	return ""
}

func scriptUnit(s Unit, cmd string) string {
	q := shell.Quote(s.Name)
	if s.again() {
		return "again " + cmd + cmd
	}
	inverse := map[string]string{"start": "stop", "stop": "start", "enable": "disable", "disable": "enable"}[s.Act]
	question, there := "is-enabled", s.Act == "disable"
	if s.Act == "start" || s.Act == "stop" {
		question, there = "is-active", s.Act == "stop"
	}
	not := "! "
	if there {
		not = ""
	}
	return fmt.Sprintf("if %ssystemctl --quiet %s %s; then undo systemctl %s %s; fi\n%s", not, question, q, inverse, q, cmd)
}
