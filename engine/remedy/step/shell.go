package step

import "errors"

// ErrSecret is the refusal to write a plan with secret content into a script.
var ErrSecret = errors.New("the plan holds secret content, which is not written into scripts; let fettle apply it itself")

// ShellCommands are a step's commands as lines of a script.
func ShellCommands(s Step) (out string) {
	for _, c := range Commands(s) {
		out += c + "\n"
	}
	return out
}

// ShellHead defines what the steps below it use. undo.sh grows at its front,
// so that the last step is undone first; what daemons must do again stays at
// its end.
const ShellHead = `set -eu
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
		[ ! -e "$1" ] || { echo "$1 exists already; make a new plan" >&2; exit 1; }
	elif ! printf '%s  %s\n' "$2" "$1" | sha256sum -c --status; then
		echo "$1 was changed since the plan was made; make a new plan" >&2; exit 1
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
