#!/bin/sh
# Sourced by fettle's hooks in post-base-installer.d, pre-pkgsel.d and finish-install.d.

# What runs dpkg, or is it.
programs="dpkg apt-get aptitude tasksel"

# In the installer's memory: which of them these hooks diverted.
state=/tmp/fettle-hooks

log() {
	logger -t fettle-hooks "$*"
}

# in_target runs a program of the system that is being installed. The
# installer's in-target is not needed: nothing here asks or starts services.
in_target() {
	LC_ALL=C chroot /target "$@"
}

# divert NAME puts a wrapper in the place of /usr/bin/NAME. At no moment is
# there no /usr/bin/NAME: the wrapper replaces it by rename.
divert() {
	file=/usr/bin/$1
	if [ ! -f "/target$file" ] || [ -L "/target$file" ]; then
		log "$file is not a file of the target: left alone"
		return 0
	fi
	if in_target /usr/bin/dpkg-divert --listpackage "$file" | grep -q .; then
		log "$file is diverted already: left alone"
		return 0
	fi
	mkdir -p "$state" && : > "$state/$1" || return 1
	in_target /usr/bin/dpkg-divert --quiet --local --no-rename \
		--divert "$file.distrib" --add "$file" || return 1
	ln -f "/target$file" "/target$file.distrib" || return 1
	wrapper "$file" > "/target$file.fettle" || return 1
	chmod 755 "/target$file.fettle" || return 1
	mv -f "/target$file.fettle" "/target$file"
}

# wrapper FILE writes the wrapper. It leaves out fsync only during this very
# boot, the installer's: one that stays behind does no harm.
wrapper() {
	read -r boot < /proc/sys/kernel/random/boot_id || return 1
	cat <<EOF
#!/bin/sh
# Written by fettle's installer hook: no fsync while packages are installed.
{ read -r boot < /proc/sys/kernel/random/boot_id; } 2> /dev/null
if [ "\$boot" = $boot ] && [ -x /usr/bin/eatmydata ]; then
	exec /usr/bin/eatmydata -- $1.distrib "\$@"
fi
exec $1.distrib "\$@"
EOF
}

# undivert takes all back, whatever was reached. It fails when something is
# left, and goes on with the rest.
undivert() {
	left=0
	for name in $programs; do
		[ -e "$state/$name" ] || continue
		file=/usr/bin/$name
		rm -f "/target$file.fettle"
		if [ -e "/target$file.distrib" ]; then
			mv -f "/target$file.distrib" "/target$file" || {
				left=1
				continue
			}
			# rename(2) leaves both names where they are one file.
			rm -f "/target$file.distrib"
		fi
		if in_target /usr/bin/dpkg-divert --quiet --local --no-rename \
			--divert "$file.distrib" --remove "$file"; then
			rm -f "$state/$name"
		else
			left=1
		fi
	done
	return $left
}
